import { expect, test } from "vitest";
import { ClusterSessionReader } from "../../src/session/cluster-reader.js";
import { Generations } from "../../src/session/generations.js";
import type { ReadOutcome } from "../../src/session/read-outcome.js";
import { RecentSessions } from "../../src/session/recent-sessions.js";
import { PlayedConnection } from "../support/played-connection.js";

const RECORD = "100,7,n=AAAAAAAAAAAA,{}";

const asItIs = (outcome: ReadOutcome): ReadOutcome => outcome;

function played(): { redis: PlayedConnection; recent: RecentSessions; reader: ClusterSessionReader } {
  const redis = new PlayedConnection();
  const recent = new RecentSessions();
  const generations = new Generations(redis.asRedis, "age:", 1_000);
  return { redis, recent, reader: new ClusterSessionReader(redis.asRedis, generations, recent, "s:") };
}

test("without a hint: the record, then its counter", async () => {
  const { redis, reader } = played();
  redis.values.set("s:a", RECORD).set("age:100", "7");
  expect((await reader.read("a", asItIs)).kind).toBe("live");
  expect(redis.asked).toEqual(["mget s:a", "mget age:100"]);
  expect((await reader.read("a", asItIs)).kind).toBe("live");
  expect(redis.asked.slice(2)).toEqual(["mget s:a age:100"]);
});

test("G1: a counter that differs is believed only after the record was read again, and then it", async () => {
  const { redis, recent, reader } = played();
  recent.rememberUser("a", "100");
  redis.values.set("s:a", RECORD).set("age:100", "8");
  expect((await reader.read("a", asItIs)).kind).toBe("stale");
  expect(redis.asked).toEqual(["mget s:a age:100", "mget s:a", "mget age:100"]);
  redis.values.delete("age:100");
  expect((await reader.read("a", asItIs)).kind).toBe("uncounted");
});

test("G1: a record that was stamped anew between the two answers is good", async () => {
  const { redis, recent, reader } = played();
  recent.rememberUser("a", "100");
  redis.values.set("s:a", "100,6,n=AAAAAAAAAAAA,{}").set("age:100", "7");
  const asked = redis.mget.bind(redis);
  redis.mget = async (keys) => {
    const values = await asked(keys);
    redis.values.set("s:a", RECORD);
    return values;
  };
  expect((await reader.read("a", asItIs)).kind).toBe("live");
});

test("a wrong hint costs one round trip more, and the user in the record decides", async () => {
  const { redis, recent, reader } = played();
  recent.rememberUser("a", "99");
  redis.values.set("s:a", RECORD).set("age:100", "7").set("age:99", "7");
  expect((await reader.read("a", asItIs)).kind).toBe("live");
  expect(redis.asked).toEqual(["mget s:a age:99", "mget age:100"]);
  expect(recent.userOf("a")).toBe("100");
});

test("no record, an anonymous one, a corrupt one and the mark of a taken one need no counter", async () => {
  const { redis, reader } = played();
  redis.values.set("s:b", ",,,{}").set("s:c", "rubbish").set("s:d", "~taken:AAAA");
  const kinds = [];
  for (const sid of ["a", "b", "c", "d"]) kinds.push((await reader.read(sid, asItIs)).kind);
  expect(kinds).toEqual(["absent", "live", "corrupt", "absent"]);
  expect(redis.asked).toEqual(["mget s:a", "mget s:b", "mget s:c", "mget s:d"]);
});

test("G7: a node that cannot be asked is a failure, not a session that is gone", async () => {
  const { redis, recent, reader } = played();
  recent.rememberUser("a", "100");
  redis.failing = { after: 0 };
  await expect(reader.read("a", asItIs)).rejects.toThrow("played failure");
  redis.values.set("s:a", RECORD).set("age:100", "8");
  redis.failing = { after: 2 };
  await expect(reader.read("a", asItIs)).rejects.toThrow("played failure");
});
