import { afterEach, expect, test, vi } from "vitest";
import { RedisConnection } from "../../src/redis/connection.js";
import { Deadline } from "../../src/redis/deadline.js";
import { defineScript } from "../../src/redis/script.js";
import { PlayedClient } from "../support/played-client.js";

afterEach(() => vi.useRealTimers());

const SCRIPT = defineScript({
  name: "double",
  lua: "return {1, ARGV[1] * 2}",
  decode: (status, [value]) => (status === 1 ? { value } : undefined),
});
const NOSCRIPT = new Error("NOSCRIPT No matching script. Please use EVAL.");
const BROKEN = new Error("Connection is closed.");

function played(...replies: unknown[]): { client: PlayedClient; redis: RedisConnection } {
  const client = new PlayedClient();
  client.replies["evalsha"] = replies;
  return { client, redis: new RedisConnection(client.asClient, 1_000) };
}

/** The time, on Redis' clock, until which a script might have its effect. */
function notAfterMs(command: readonly string[] | undefined): number {
  return Number(command?.at(-1));
}

test("G7: a script goes by its digest, with its key, its arguments and its latest time", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const { client, redis } = played([1, "4"]);
  expect(await redis.run(SCRIPT, "a", ["2", "x"])).toEqual({ value: "4" });
  expect(client.asked).toEqual([["time"], ["evalsha", SCRIPT.sha1, "1", "a", "2", "x", "1001000"]]);
  vi.advanceTimersByTime(500);
  await redis.run(SCRIPT, "a", [], new Deadline(20));
  expect(client.asked.slice(2)).toEqual([["evalsha", SCRIPT.sha1, "1", "a", "1000520"]]);
});

test("G7: a script that the server does not know is sent whole, and only then", async () => {
  const { client, redis } = played(NOSCRIPT, BROKEN, new Error("OOM command not allowed"));
  client.replies["eval"] = [[1, "4"]];
  expect(await redis.run(SCRIPT, "a", ["2"])).toEqual({ value: "4" });
  expect(client.asked[2]).toEqual(["eval", SCRIPT.lua, "1", "a", "2", client.asked[1]?.at(-1)]);
  await expect(redis.run(SCRIPT, "a", ["2"])).rejects.toMatchObject({ outcome: "unknown" });
  await expect(redis.run(SCRIPT, "a", ["2"])).rejects.toMatchObject({ outcome: "refused" });
  expect([client.count("eval"), client.count("evalsha")]).toEqual([1, 3]);
});

test("G7: past the deadline a script is not sent whole any more", async () => {
  const { client, redis } = played(() => new Promise((resolve) => setTimeout(resolve, 60, NOSCRIPT)));
  await expect(redis.run(SCRIPT, "a", [], new Deadline(20))).rejects.toMatchObject({ code: "ERR_REDIS_TIMEOUT" });
  await new Promise((resolve) => setTimeout(resolve, 80));
  expect([client.count("evalsha"), client.count("eval")]).toEqual([1, 0]);
});

test.each([[null], [[2, "4"]], [7]])("G7: the script's reply %j is refused", async (reply) => {
  const { redis } = played(reply);
  await expect(redis.run(SCRIPT, "a", [])).rejects.toMatchObject({
    code: "ERR_REDIS_REPLY",
    message: "Redis answered double with an unexpected reply",
  });
});

test("C36: a script that came too late by a stepped clock is sent once more, by the clock it told", async () => {
  const { client, redis } = played(["-1", "5000000"], [1, "4"]);
  expect(await redis.run(SCRIPT, "a", [])).toEqual({ value: "4" });
  const [, first, second] = client.asked;
  expect([client.count("time"), notAfterMs(first) < 1_001_001]).toEqual([1, true]);
  expect(notAfterMs(second)).toBeGreaterThan(5_000_900);
  expect(notAfterMs(second)).toBeLessThanOrEqual(5_001_001);
});

test("C36: a script that came too late twice, or after its time, had no effect", async () => {
  const { client, redis } = played([-1, "5000000"]);
  const tooLate = { code: "ERR_REDIS_TIMEOUT", outcome: "refused" };
  await expect(redis.run(SCRIPT, "a", [])).rejects.toMatchObject(tooLate);
  expect(client.count("evalsha")).toBe(2);
  await expect(redis.run(SCRIPT, "a", [], new Deadline(0))).rejects.toMatchObject(tooLate);
  expect(client.count("evalsha")).toBe(3);
});

test("C36: without Redis' clock a script may have no effect", async () => {
  const { client, redis } = played([1, "4"]);
  await redis.run(SCRIPT, "a", [], new Deadline(0));
  expect(client.asked[1]?.at(-1)).toBe("0");
  client.replies["time"] = [["x"]];
  await expect(redis.run(SCRIPT, "a", [])).rejects.toThrow("answered TIME");
});

test("C36: the clock is learned again after a minute, beside the work, whatever becomes of it", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const { client, redis } = played([1, "4"]);
  await redis.run(SCRIPT, "a", []);
  vi.advanceTimersByTime(60_001);
  client.replies["time"] = [new Error("ERR no time")];
  await redis.run(SCRIPT, "a", []);
  await redis.run(SCRIPT, "a", []);
  await new Promise(setImmediate);
  expect([client.count("time"), client.asked.at(-1)?.at(-1)]).toEqual([2, "1061001"]);
  client.replies["time"] = [["9000", "0"]];
  vi.advanceTimersByTime(60_001);
  await redis.run(SCRIPT, "a", []);
  await redis.run(SCRIPT, "a", []);
  expect(client.asked.at(-1)?.at(-1)).toBe("9001000");
});

test("G7: a script that recognises its caller is asked once more after a lost reply", async () => {
  const { client, redis } = played(BROKEN, [1, "4"]);
  expect(await redis.runRecognised(SCRIPT, "a", ["2"])).toEqual({ value: "4" });
  const [, first, second] = client.asked;
  expect(second).toEqual(first);
});

test("G7: it is asked no third time, and not after a refusal", async () => {
  const { client, redis } = played(BROKEN, BROKEN, new Error("OOM full"));
  await expect(redis.runRecognised(SCRIPT, "a", [])).rejects.toMatchObject({ outcome: "unknown" });
  expect(client.count("evalsha")).toBe(2);
  await expect(redis.runRecognised(SCRIPT, "a", [])).rejects.toMatchObject({ outcome: "refused" });
  expect(client.count("evalsha")).toBe(3);
});

test("G7: it is not asked again once its time is over", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const { client, redis } = played(() => {
    vi.advanceTimersByTime(1_001);
    return BROKEN;
  });
  await expect(redis.runRecognised(SCRIPT, "a", [])).rejects.toMatchObject({ outcome: "unknown" });
  expect(client.count("evalsha")).toBe(1);
});
