import { expect, test } from "vitest";
import { RedisError } from "../../src/errors.js";
import { Deadline } from "../../src/redis/deadline.js";
import {
  isFromReplica,
  isNoScript,
  isPassing,
  isRedirection,
  malformedReply,
  replicaError,
  toRedisError,
} from "../../src/redis/failure.js";
import { escapeGlob } from "../../src/redis/scan.js";
import { ServerClock } from "../../src/redis/server-clock.js";

test.each([
  ["ERR unknown command 'x', with args beginning with: 'secret'", "ERR", "ERR unknown command …"],
  ["ERR unknown command with args beginning with: secret\nsecret", "ERR", "ERR unknown command"],
  ["ERR Error compiling `secret`", "ERR", "ERR Error compiling …"],
  ['ERR Error "secret"\nsecret', "ERR", "ERR Error …"],
  ["-OOM command not allowed", "OOM", "-OOM command not allowed"],
  ["WRONGTYPE", "WRONGTYPE", "WRONGTYPE"],
  [
    "NOPERM User app has no permissions to run the 'config|set' command",
    "NOPERM",
    "NOPERM The user may not run CONFIG|SET",
  ],
  ["NOPERM No permissions to access the 'secret' key", "NOPERM", "NOPERM No permissions to access the …"],
])("G9: the error reply %j is a refusal with %s", (message, code, cause) => {
  const error = toRedisError(new Error(message));
  expect(error).toMatchObject({ code: "ERR_REDIS_REPLY", outcome: "refused" });
  expect(error.message).toBe(`Redis refused a command with ${code}; see docs/errors.md`);
  expect(error.cause).toEqual(new Error(cause));
});

test.each([
  [Object.assign(new Error("connect ECONNREFUSED secret"), { code: "ECONNREFUSED" }), "ECONNREFUSED"],
  [new Error(`Connection is closed. ${"x".repeat(200)}`), `Connection is closed. ${"x".repeat(98)}`],
  [new Error("ERRor of another kind"), "ERRor of another kind"],
  [new Error("x ERR in the middle"), "x ERR in the middle"],
  ["ERR text", "the client rejected with something that is no Error"],
])("G7: %s is a connection that broke", (failure, cause) => {
  const error = toRedisError(failure);
  expect(error).toMatchObject({ code: "ERR_REDIS_UNAVAILABLE", outcome: "unknown" });
  expect(error.message).toBe("The connection to Redis broke before the reply; the command may have taken effect");
  expect(error.cause).toEqual(new Error(cause));
  expect(toRedisError(error)).toBe(error);
});

test("C28: only the server's own words are NOSCRIPT, and only a replica's are a replica's", () => {
  expect([isNoScript(new Error("NOSCRIPT No matching script")), isNoScript(new Error("x NOSCRIPT"))]).toEqual([
    true,
    false,
  ]);
  expect([isNoScript({ message: "NOSCRIPT" }), isNoScript(new Error("ERR"))]).toEqual([false, false]);
  const words = ["READONLY You can't write", "MASTERDOWN Link", "READONLYISH", "x READONLY", "ERR"];
  expect(words.map((message) => isFromReplica(new Error(message)))).toEqual([true, true, false, false, false]);
  expect(isFromReplica({ message: "READONLY" })).toBe(false);
  expect(replicaError().cause).toEqual(new Error("READONLY The connection leads to a replica"));
});

test("G7: each failure says what is known of the command", () => {
  const deadline = new Deadline(1_234);
  const said = [
    malformedReply("MGET"),
    deadline.tooLateError(),
    deadline.timeoutError(),
    deadline.unavailableError(new Error("why")),
  ].map(({ code, outcome, message }) => `${code} ${outcome} ${message}`);
  expect(said).toEqual([
    "ERR_REDIS_REPLY unknown Redis answered MGET with an unexpected reply",
    "ERR_REDIS_TIMEOUT refused The command reached Redis later than 1234 ms (commandTimeoutMs) and had no effect",
    "ERR_REDIS_TIMEOUT unknown Redis did not answer within 1234 ms (commandTimeoutMs); the command may still take effect",
    "ERR_REDIS_UNAVAILABLE not-sent No ready connection to Redis within 1234 ms (commandTimeoutMs); nothing was sent",
  ]);
  expect(deadline.unavailableError("why").cause).toBe("why");
});

test("G7: a deadline ends what hangs, passes on what does not, and its time only gets less", async () => {
  const deadline = new Deadline(20);
  expect(deadline.remainingMs).toBeGreaterThan(0);
  expect(deadline.remainingMs).toBeLessThanOrEqual(20);
  expect(await deadline.limit(Promise.resolve(7))).toBe(7);
  await expect(deadline.limit(Promise.reject(new Error("its own")))).rejects.toThrow("its own");
  await expect(deadline.limit(new Promise(() => undefined))).rejects.toBeInstanceOf(RedisError);
  const told = (error: unknown): Error => new Error("told", { cause: error });
  await expect(new Deadline(20).limit(Promise.reject(7), told)).rejects.toMatchObject({ message: "told", cause: 7 });
  await expect(new Deadline(5).limit(new Promise(() => undefined), told)).rejects.toBeInstanceOf(RedisError);
  // Timers may come up to a millisecond early.
  expect(deadline.remainingMs).toBeLessThan(1);
  expect(new Deadline(0).remainingMs).toBe(0);
});

test("G7: waiting for a deadline keeps no process alive: what waits for Redis has a socket that does", async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const before = timers();
  const waiting = new Deadline(30).limit(new Promise(() => undefined));
  expect(timers()).toBe(before);
  const keepAlive = setTimeout(() => undefined, 1_000);
  await expect(waiting).rejects.toBeInstanceOf(RedisError);
  clearTimeout(keepAlive);
});

test("C36: the deadline on Redis' clock is never earlier than here", async () => {
  const clock = new ServerClock();
  const deadline = new Deadline(1_000);
  expect([clock.at(deadline), clock.isDue()]).toEqual([undefined, false]);
  const redis = { time: async () => ["2000", "500500"] };
  const askedAtMs = performance.now();
  await clock.learn(redis as never, deadline);
  const atMs = clock.at(deadline) ?? 0;
  expect(Number.isInteger(atMs)).toBe(true);
  expect(atMs).toBeGreaterThan(2_000_500 + 900);
  expect(atMs).toBeLessThanOrEqual(2_000_500.5 + deadline.endsAtMs - askedAtMs + 1);
  expect(clock.isDue()).toBe(false);
  clock.note(5, performance.now() - 60_001);
  expect([clock.isDue(), clock.isDue()]).toEqual([true, false]);
  await expect(clock.learn({ time: async () => ["x", "1"] } as never, deadline)).rejects.toThrow(/answered TIME/);
  // An answer past the deadline says nothing.
  await clock.learn({ time: async () => ["9000", "0"] } as never, new Deadline(0));
  expect(clock.at(deadline)).toBeLessThan(9_000_000);
});

test("scan: a prefix with glob characters matches only itself", () => {
  expect(escapeGlob("a[b]*c?\\:")).toBe("a\\[b\\]\\*c\\?\\\\:");
});

test.each([
  ["MOVED 3999 127.0.0.1:6381"],
  ["ASK 3999 127.0.0.1:6381"],
  ["TRYAGAIN Multiple keys request during rehashing of slot"],
  ["CLUSTERDOWN The cluster is down"],
  ["Too many Cluster redirections. Last error: ReplyError: MOVED 3999 127.0.0.1:6381"],
])("C25: %j is a key that nobody serves now: 503, and nobody knows what became of the command", (message) => {
  const error = toRedisError(new Error(message));
  expect(error).toMatchObject({ code: "ERR_REDIS_UNAVAILABLE", outcome: "unknown", status: 503 });
  expect(error.message).toBe(
    "No node of the Redis cluster serves this key at the moment; the command may have taken effect",
  );
  expect(error.cause).toEqual(new Error(message));
});

test("C25: what passes is tried again: redirections, a server that is away or cannot answer yet", () => {
  const replies = ["MOVED 1 a:1", "ASK 1 a:1", "TRYAGAIN", "CLUSTERDOWN x", "LOADING x", "MASTERDOWN x", "READONLY x"];
  expect(replies.map((reply) => isPassing(new Error(reply)))).toEqual(replies.map(() => true));
  expect(isPassing(new Error("Connection is closed."))).toBe(true);
  expect(["OOM x", "NOPERM x", "WRONGTYPE x", "ERR x"].map((reply) => isPassing(new Error(reply)))).toEqual(
    Array.from({ length: 4 }, () => false),
  );
  expect(isPassing(malformedReply("MGET"))).toBe(false);
  expect(["MOVED 1 a:1", "ASK 1 a:1", "TRYAGAIN x"].map((reply) => isRedirection(new Error(reply)))).toEqual([
    true,
    true,
    false,
  ]);
});
