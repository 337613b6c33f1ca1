import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { checkClient } from "../../src/redis/client.js";
import { Deadline } from "../../src/redis/deadline.js";
import { checkPrefixes } from "../../src/redis/prefixes.js";
import { Readiness } from "../../src/redis/readiness.js";
import { scanNames } from "../../src/redis/scan.js";
import { PlayedClient } from "../support/played-client.js";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
});
afterEach(() => vi.useRealTimers());

const UNAVAILABLE = { code: "ERR_REDIS_UNAVAILABLE", outcome: "not-sent" };

function played(status: string | undefined): { client: PlayedClient; readiness: Readiness; listeners(): number[] } {
  const client = new PlayedClient();
  client.status = status;
  const listeners = (): number[] => ["ready", "end"].map((event) => client.listenerCount(event));
  return { client, readiness: new Readiness(client.asClient), listeners };
}

test.each([
  [undefined, true],
  ["ready", true],
  ["connecting", false],
])("G7: a client whose status is %s is ready: %s", async (status, isReady) => {
  const { readiness, listeners } = played(status);
  expect(readiness.isReady).toBe(isReady);
  if (!isReady) return;
  await readiness.wait(new Deadline(1_000));
  expect([listeners(), vi.getTimerCount()]).toEqual([[0, 0], 0]);
});

test("G7: all who wait share one listener, and each ends at his own deadline or when the client is ready", async () => {
  const { client, readiness, listeners } = played("reconnecting");
  const early = readiness.wait(new Deadline(10));
  const late = [readiness.wait(new Deadline(1_000)), readiness.wait(new Deadline(1_000))];
  expect([listeners(), vi.getTimerCount()]).toEqual([[1, 1], 3]);
  vi.advanceTimersByTime(10);
  await expect(early).rejects.toMatchObject(UNAVAILABLE);
  expect(listeners()).toEqual([1, 1]);
  client.emit("ready");
  await Promise.all(late);
  expect([listeners(), vi.getTimerCount()]).toEqual([[0, 0], 0]);
  const again = readiness.wait(new Deadline(1_000));
  expect(listeners()).toEqual([1, 1]);
  client.emit("ready");
  await again;
});

test("G7: a client that has ended, or ends, makes nobody wait", async () => {
  const { client, readiness, listeners } = played("reconnecting");
  const waiting = [readiness.wait(new Deadline(1_000)), readiness.wait(new Deadline(1_000))];
  client.emit("end");
  for (const one of waiting) await expect(one).rejects.toMatchObject(UNAVAILABLE);
  client.status = "end";
  await expect(readiness.wait(new Deadline(1_000))).rejects.toMatchObject(UNAVAILABLE);
  expect([listeners(), vi.getTimerCount()]).toEqual([[0, 0], 0]);
});

test("G7: a client that connects on first use is told to; what becomes of it, its events say", async () => {
  const { client, readiness } = played("wait");
  const connect = vi.fn(async () => {
    throw new Error("refused");
  });
  Object.assign(client, { connect });
  const waiting = readiness.wait(new Deadline(1_000));
  client.emit("ready");
  await waiting;
  expect(connect).toHaveBeenCalledTimes(1);
  client.status = "connecting";
  const other = readiness.wait(new Deadline(1_000));
  client.emit("ready");
  await other;
  expect(connect).toHaveBeenCalledTimes(1);
  Object.assign(client, { connect: undefined, status: "wait" });
  const last = readiness.wait(new Deadline(1_000));
  client.emit("ready");
  await last;
});

test("G7: all deadlines share one timer", async () => {
  const waiting = Array.from({ length: 100 }, () => new Deadline(1_000).limit(new Promise(() => undefined)));
  await new Deadline(1_000).limit(Promise.resolve());
  expect(vi.getTimerCount()).toBeLessThanOrEqual(1);
  vi.advanceTimersByTime(1_001);
  const settled = await Promise.allSettled(waiting);
  expect(settled.every(({ status }) => status === "rejected")).toBe(true);
});

test.each([
  [undefined, "an ioredis client, got undefined"],
  [null, "an ioredis client, got null"],
  ["redis://", "an ioredis client, got a string"],
  [
    { on: () => undefined, get: "no function" },
    "an ioredis client, got an object without removeListener, get, mget, del, pexpire, pexpireat, eval, evalsha, time, pipeline",
  ],
])("misuse: %j is no client", (client, expected) => {
  expect(() => checkClient("GenerationStore", client)).toThrow(
    expect.objectContaining({
      name: "TypeError",
      code: "ERR_INVALID_ARG_TYPE",
      message: `GenerationStore: client: expected ${expected}`,
    }),
  );
  expect(() => checkClient("GenerationStore", Object.assign(new PlayedClient()))).not.toThrow();
});

test("misuse: prefixes of which one begins with the other are refused, whichever it is", () => {
  for (const [a, b] of [
    ["s:", "s:g:"],
    ["s:g:", "s:"],
    ["s:", "s:"],
  ] as const) {
    expect(() => checkPrefixes("Store", { sessionPrefix: b, generationPrefix: a })).toThrow(
      expect.objectContaining({
        code: "ERR_INVALID_ARG_VALUE",
        message: `Store: generationPrefix ("${a}") and sessionPrefix ("${b}") overlap; neither may start with the other`,
      }),
    );
  }
  expect(() => checkPrefixes("Store", { a: "x:", b: "y:", c: "xx:" })).not.toThrow();
  expect(() => checkPrefixes("Store", { a: "x:", b: 7 as never })).toThrow(/^Store: b/);
});

test("all(): a walk goes on to its end, takes only what begins with the prefix, and names each once", async () => {
  const asked: unknown[] = [];
  const steps = [
    { cursor: "7", keys: ["app:s[1]:a", "app:s1:x", "app:s[1]:b"] },
    { cursor: "8", keys: ["other"] },
    { cursor: "0", keys: ["app:s[1]:a", "app:s[1]:c"] },
  ];
  const redis = {
    keyPrefix: "app:",
    scanned: async () => ["the server"],
    scan: async (...args: unknown[]) => {
      asked.push(args);
      return steps.shift();
    },
  };
  const batches: string[][] = [];
  for await (const batch of scanNames(redis as never, "s[1]:")) batches.push(batch);
  expect(batches).toEqual([["a", "b"], ["c"]]);
  expect(asked).toEqual(["0", "7", "8"].map((cursor) => [cursor, "app:s\\[1\\]:*", 500, "the server"]));
});
