import { expect, test } from "vitest";
import { Generations } from "../../src/session/generations.js";
import type { ReadOutcome } from "../../src/session/read-outcome.js";
import { SessionReader } from "../../src/session/reader.js";
import { RecentSessions } from "../../src/session/recent-sessions.js";
import { PlayedConnection } from "../support/played-connection.js";

const HEAD = "mira,7,n=abc,";
const LOGIN = { userId: "mira", userText: "mira", generation: "7", at: undefined };
const RECORD = { head: HEAD, login: LOGIN, payload: "{}" };

const asItIs = (outcome: ReadOutcome): ReadOutcome => outcome;

function played(): { redis: PlayedConnection; reader: SessionReader; recent: RecentSessions } {
  const redis = new PlayedConnection();
  const recent = new RecentSessions();
  const generations = new Generations(redis.asRedis, "user:", 1_000);
  return { redis, recent, reader: new SessionReader(redis.asRedis, generations, recent, "session:") };
}

test.each([
  ["the same", "7", { kind: "live", record: RECORD }],
  ["another", "8", { kind: "stale", record: RECORD }],
  ["a lower", "6", { kind: "stale", record: RECORD }],
  ["no", undefined, { kind: "uncounted" }],
  ["an unusable", "07", { kind: "uncounted" }],
])("G1: a session whose user has %s generation", async (_what, counter, outcome) => {
  const { redis, reader, recent } = played();
  redis.values.set("session:sid", `${HEAD}{}`);
  if (counter !== undefined) redis.values.set("user:mira", counter);
  expect(await reader.read("sid", asItIs)).toEqual(outcome);
  // Seen once, its counter is fetched along with it.
  expect(redis.asked).toEqual(["mget session:sid", "mget user:mira"]);
  expect(recent.userOf("sid")).toBe("mira");
  expect(await reader.read("sid", asItIs)).toEqual(outcome);
  expect(redis.asked.slice(2)).toEqual(["mget session:sid user:mira"]);
});

test.each([
  [undefined, { kind: "absent" }],
  ["~taken:abc", { kind: "absent" }],
  ["{}", { kind: "corrupt" }],
  ["", { kind: "corrupt" }],
  [",,n=abc,{}", { kind: "live", record: { head: ",,n=abc,", login: undefined, payload: "{}" } }],
])("G1: %j under a session key needs no counter", async (value, outcome) => {
  const { redis, reader } = played();
  if (value !== undefined) redis.values.set("session:sid", value);
  expect(await reader.read("sid", asItIs)).toEqual(outcome);
  expect(redis.asked).toEqual(["mget session:sid"]);
});

test("G1: reads of one moment share a command, one for each session and user; those of the next have their own", async () => {
  const { redis, reader, recent } = played();
  for (const sid of ["a", "b"]) {
    redis.values.set(`session:${sid}`, `${HEAD}{}`);
    recent.rememberUser(sid, "mira");
  }
  redis.values.set("user:mira", "7");
  const found = await Promise.all(["a", "b", "a"].map((sid) => reader.read(sid, asItIs)));
  expect(found.map(({ kind }) => kind)).toEqual(["live", "live", "live"]);
  expect(redis.asked).toEqual(["mget session:a session:b user:mira"]);
  await reader.read("a", asItIs);
  expect(redis.asked.slice(1)).toEqual(["mget session:a user:mira"]);
});

test("G1: a wrong guess does not decide: the user named in the record does, also among others", async () => {
  const { redis, reader, recent } = played();
  for (const [sid, user] of [
    ["a", "mira"],
    ["b", "tom"],
    ["c", "tom"],
  ]) {
    redis.values.set(`session:${sid}`, `${user},7,n=abc,{}`);
    recent.rememberUser(sid ?? "", "mira");
  }
  redis.values.set("user:mira", "7");
  redis.values.set("user:tom", "8");
  const found = await Promise.all(["a", "b", "c"].map((sid) => reader.read(sid, asItIs)));
  expect(found.map(({ kind }) => kind)).toEqual(["live", "stale", "stale"]);
  expect(redis.asked).toEqual(["mget session:a session:b session:c user:mira", "mget user:tom"]);
  expect(recent.userOf("b")).toBe("tom");
});

test("G7: a failure is passed to all who wait for it, and to nobody who has an answer", async () => {
  const { redis, reader } = played();
  redis.failing = { after: 0 };
  const failed = await Promise.allSettled([
    reader.read("a", asItIs),
    reader.read("b", asItIs),
    reader.read("a", asItIs),
  ]);
  expect(failed.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  redis.values.set("session:a", `${HEAD}{}`);
  redis.failing = { after: 1 };
  const half = await Promise.allSettled([reader.read("a", asItIs), reader.read("b", asItIs)]);
  expect(half).toMatchObject([{ status: "rejected" }, { status: "fulfilled", value: { kind: "absent" } }]);
});

test("G1: at most 100 sessions are asked for with one command", async () => {
  const { redis, reader } = played();
  await Promise.all(Array.from({ length: 201 }, (_, index) => reader.read(`s${index}`, asItIs)));
  await Promise.all(Array.from({ length: 100 }, (_, index) => reader.read(`s${index}`, asItIs)));
  expect(redis.asked.map((command) => command.split(" ").length - 1)).toEqual([100, 100, 1, 100]);
});
