import { afterEach, expect, test, vi } from "vitest";
import { RedisConnection } from "../../src/redis/connection.js";
import { Deadline } from "../../src/redis/deadline.js";
import { PlayedClient } from "../support/played-client.js";

afterEach(() => vi.useRealTimers());

function played(timeoutMs = 1_000): { client: PlayedClient; redis: RedisConnection } {
  const client = new PlayedClient();
  return { client, redis: new RedisConnection(client.asClient, timeoutMs) };
}

const MALFORMED = { code: "ERR_REDIS_REPLY", outcome: "unknown" };

test("G7: the client's own prefix is known, if it has one", () => {
  const { client, redis } = played();
  expect(redis.keyPrefix).toBe("");
  client.options = {};
  expect(redis.keyPrefix).toBe("");
  client.options = { keyPrefix: "app:" };
  expect(redis.keyPrefix).toBe("app:");
});

test("G7: values are passed on only if there is one for each key", async () => {
  const { client, redis } = played();
  client.replies["mget"] = [["1", null], ["1"], "12"];
  expect(await redis.mget(["a", "b"])).toEqual(["1", null]);
  for (let tries = 0; tries < 2; tries += 1) {
    await expect(redis.mget(["a", "b"])).rejects.toMatchObject({
      ...MALFORMED,
      message: "Redis answered MGET with an unexpected reply",
    });
  }
  expect(client.asked[0]).toEqual(["mget", "a", "b"]);
});

test("G7: a deletion says whether the key was there", async () => {
  const { client, redis } = played();
  client.replies["del"] = [1, 0, "1"];
  expect([await redis.delete("a"), await redis.delete("a"), await redis.delete("a")]).toEqual([true, false, true]);
  expect(client.asked[0]).toEqual(["del", "a"]);
});

test("G7: nothing is sent after close()", async () => {
  const { client, redis } = played();
  redis.close();
  await expect(redis.delete("a")).rejects.toMatchObject({
    code: "ERR_STORE_CLOSED",
    outcome: "not-sent",
    message: "The store was closed; create a new one",
  });
  expect(client.asked).toEqual([]);
});

test("G7: commands wait until the client is ready", async () => {
  const { client, redis } = played();
  client.status = "connecting";
  client.replies["del"] = [1];
  const deleted = redis.delete("a");
  const waited = redis.whenReady();
  await new Promise(setImmediate);
  expect(client.asked).toEqual([]);
  client.emit("ready");
  expect([await deleted, await waited]).toEqual([true, undefined]);
  await expect(redis.delete("a", new Deadline(0))).rejects.toMatchObject({ outcome: "not-sent" });
  await expect(redis.whenReady(new Deadline(0))).rejects.toMatchObject({ outcome: "not-sent" });
});

test("G8: who asks is told of each new connection, until he asks no more", () => {
  const { client, redis } = played();
  const told = vi.fn();
  const stop = redis.onReady(told);
  client.emit("ready");
  client.emit("ready");
  stop();
  client.emit("ready");
  expect([told.mock.calls.length, client.listenerCount("ready")]).toEqual([2, 0]);
});

test("C21: lives are extended in one round trip, each up to its own end", async () => {
  const { client, redis } = played();
  client.replies["pexpire"] = [1, 0, 1, new Error("OOM full")];
  client.replies["pexpireat"] = [1];
  const extensions = [
    { key: "a", ttlMs: 5 },
    { key: "b", ttlMs: 6, notAfterMs: 7 },
  ];
  const told = client.asked;
  Object.assign(client, { stream: { cork: () => told.push(["cork"]), uncork: () => told.push(["uncork"]) } });
  await redis.extend(extensions);
  expect(told.map((words) => words.join(" "))).toEqual([
    "cork",
    "pexpire a 5 GT",
    "pexpire b 6 GT",
    "pexpireat b 7 LT",
    "uncork",
  ]);
  await expect(redis.extend(extensions)).rejects.toMatchObject({ code: "ERR_REDIS_REPLY", outcome: "refused" });
});

test("G7: a client that throws at once fails as one that rejects", async () => {
  const { client, redis } = played();
  client.replies["mget"] = [["7"]];
  expect(await redis.mget(["a"])).toEqual(["7"]);
  Object.assign(client, {
    mget: () => {
      throw new Error("broken");
    },
  });
  await expect(redis.mget(["a"])).rejects.toMatchObject({ code: "ERR_REDIS_UNAVAILABLE", outcome: "unknown" });
});

test("clear: keys are deleted in one round trip", async () => {
  const { client, redis } = played();
  client.replies["unlink"] = [[[null, 1]], null];
  await redis.deleteMany(["a", "b"]);
  expect(client.asked).toEqual([["unlink", "unlink a", "unlink b"]]);
  await expect(redis.deleteMany(["a"])).rejects.toThrow("answered UNLINK");
});

test("G8: replicas are counted as long as Redis was told to wait, and only as a number", async () => {
  const { client, redis } = played(20);
  const late = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 60, [[null, "2"]]));
  client.replies["wait"] = [late, [[null, "many"]], [], null];
  expect(await redis.waitForReplicas(3, 200)).toBe(2);
  expect(client.asked).toEqual([["wait", "wait 3 200"]]);
  for (let tries = 0; tries < 3; tries += 1) {
    await expect(redis.waitForReplicas(3, 200)).rejects.toThrow("answered WAIT");
  }
});

test("all(): a step of a walk is a cursor and names", async () => {
  const { client, redis } = played();
  client.replies["scan"] = [[[null, [7, ["a", 1]]]], [[null, "0"]], [[null, ["0", "a"]]], [], null];
  expect(await redis.scan("0", "session:*", 50)).toEqual({ cursor: "7", keys: ["a", "1"] });
  expect(client.asked).toEqual([["scan", "scan 0 MATCH session:* COUNT 50"]]);
  for (let tries = 0; tries < 4; tries += 1) {
    await expect(redis.scan("0", "session:*", 50)).rejects.toMatchObject({
      ...MALFORMED,
      message: expect.stringContaining("SCAN"),
    });
  }
});

const REPLICA = { code: "ERR_REDIS_REPLY", cause: new Error("READONLY The connection leads to a replica") };
const PRIMARY = [[null, "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n"]];

test.each([
  [[[null, "# Replication\r\nrole:slave\r\n"]]],
  [[[null, "x-role:master\n"]]],
  [[[null, "role:master of none\n"]]],
  [[]],
  [null],
])("G1: after a replica's word nothing is believed while INFO says %j", async (info) => {
  const { client, redis } = played();
  client.replies["del"] = [new Error("READONLY You can't write against a read only replica."), 1];
  client.replies["info"] = [info, info, [[null, "role:master\n"]]];
  await expect(redis.delete("a")).rejects.toMatchObject({ outcome: "refused" });
  for (let tries = 0; tries < 2; tries += 1) await expect(redis.delete("a")).rejects.toMatchObject(REPLICA);
  expect(client.asked).toEqual([
    ["del", "a"],
    ["info", "info replication"],
    ["info", "info replication"],
  ]);
  expect([await redis.delete("a"), await redis.delete("a")]).toEqual([true, true]);
  expect([client.count("info"), client.count("del")]).toEqual([3, 3]);
});

test("G1: a replica's word counts also from within a round trip; all who wait share one question", async () => {
  const { client, redis } = played();
  client.replies["unlink"] = [[[new Error("READONLY You can't write"), null]]];
  client.replies["info"] = [PRIMARY];
  client.replies["del"] = [1];
  await expect(redis.deleteMany(["a"])).rejects.toMatchObject({ outcome: "refused" });
  expect(await Promise.all([redis.delete("a"), redis.delete("b")])).toEqual([true, true]);
  expect(client.count("info")).toBe(1);
});

test("G1: a question about the role that fails is the client's failure, and is asked again", async () => {
  const { client, redis } = played();
  client.replies["del"] = [new Error("READONLY You can't write"), 1];
  client.replies["info"] = [new Error("Connection is closed."), [[new Error("NOPERM no"), null]], PRIMARY];
  await expect(redis.delete("a")).rejects.toMatchObject({ outcome: "refused" });
  await expect(redis.delete("a")).rejects.toMatchObject({ code: "ERR_REDIS_UNAVAILABLE" });
  await expect(redis.delete("a")).rejects.toMatchObject({ cause: new Error("NOPERM no") });
  expect(await redis.delete("a")).toBe(true);
});

test("G1: a question about the role that hangs holds up nobody beyond his own deadline", async () => {
  const { client, redis } = played(5_000);
  client.replies["del"] = [new Error("READONLY You can't write")];
  client.replies["info"] = [() => new Promise(() => undefined)];
  await expect(redis.delete("a")).rejects.toMatchObject({ outcome: "refused" });
  await expect(redis.delete("a", new Deadline(20))).rejects.toMatchObject({ code: "ERR_REDIS_TIMEOUT" });
});
