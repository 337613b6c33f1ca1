import { expect, test } from "vitest";
import { DataUser } from "../../src/session/data-user.js";
import { LifetimePlan } from "../../src/session/lifetime-plan.js";
import type { ReadOutcome } from "../../src/session/read-outcome.js";
import { parseRecord } from "../../src/session/record.js";
import { RetiredSessions } from "../../src/session/retired-sessions.js";
import { bindingOf } from "../../src/session/session-binding.js";
import { SessionLoader } from "../../src/session/session-loader.js";
import { StoreEvents } from "../../src/session/store-events.js";
import { PlayedConnection } from "../support/played-connection.js";

const RECORD = 'mira,7,at=1700000000000;n=abc,{"cookie":{},"user":"mira"}';

interface Played {
  readonly redis: PlayedConnection;
  readonly retired: RetiredSessions;
  readonly loader: SessionLoader;
  /** Events, once they have been emitted. */
  events(): Promise<unknown[]>;
}

function played(outcome: ReadOutcome, userId?: (data: never) => unknown, absoluteTtlMs?: number): Played {
  const redis = new PlayedConnection();
  const retired = new RetiredSessions();
  const seen: unknown[] = [];
  const loader = new SessionLoader({
    redis: redis.asRedis,
    reader: { read: async (_sid: string, use: (read: ReadOutcome) => unknown) => use(outcome) } as never,
    dataUser: new DataUser(userId),
    lifetimes: new LifetimePlan({ ttlMs: 1_000, touchIntervalMs: 10 }, absoluteTtlMs),
    retired,
    events: new StoreEvents((name, event) => seen.push([name, event])),
    sessionPrefix: "session:",
  });
  const events = async (): Promise<unknown[]> => {
    await new Promise((resolve) => setImmediate(resolve));
    return seen;
  };
  return { redis, retired, loader, events };
}

function found(kind: "live" | "stale", text: string): ReadOutcome {
  const record = parseRecord(text);
  if (record === undefined) throw new Error("no record");
  return { kind, record };
}

test("G1: a live record becomes data that remembers what it was read as", async () => {
  const { loader, retired, events } = played(found("live", RECORD), (data: { user: string }) => data.user);
  retired.retire("another");
  const { data, reason } = await loader.load("sid");
  expect([data?.["user"], reason, await events()]).toEqual(["mira", undefined, []]);
  expect(bindingOf(data ?? {})).toEqual({
    sid: "sid",
    kind: "loaded",
    head: "mira,7,at=1700000000000;n=abc,",
    bare: false,
    login: { userId: "mira", userText: "mira", generation: "7", at: 1_700_000_000_000 },
    payload: '{"cookie":{},"user":"mira"}',
    dataUser: "mira",
    nonce: undefined,
    readAt: 1,
    tail: expect.any(Promise),
  });
});

test("G1: a bare record becomes an empty session", async () => {
  const { data } = await played(found("live", "mira,7")).loader.load("sid");
  expect(Object.keys(data ?? {})).toEqual(["cookie"]);
  expect(bindingOf(data ?? {})).toMatchObject({ bare: true, head: "mira,7", payload: undefined, dataUser: undefined });
});

test.each([
  ["stale", RECORD, '"mira,7,at=1700000000000;n=abc," ""'],
  ["stale and bare", "mira,7", '"mira,7" "1"'],
])("G1: a record that is %s is out, its ID retired, its life shortened", async (_what, text, args) => {
  const { loader, redis, retired } = played(found("stale", text));
  redis.replies["fade-record"] = new Error("nobody waits for it");
  expect(await loader.load("sid")).toEqual({ data: null, reason: "logged_out" });
  expect(redis.asked).toEqual([`fade-record session:sid ${args}`]);
  expect(retired.isRetiredSince("sid", 0)).toBe(true);
});

test.each([
  [{ kind: "uncounted" } as const, "logged_out", []],
  [{ kind: "absent" } as const, "not_found", []],
  [{ kind: "corrupt" } as const, "not_found", [["corrupt", { part: "record" }]]],
  [found("live", "mira,7,,no JSON"), "not_found", [["corrupt", { part: "payload" }]]],
  [found("live", 'mira,7,,{"cookie":{"expires":"2001-01-01T00:00:00.000Z"}}'), "not_found", []],
])("C11: %j is no session", async (outcome, reason, seen) => {
  const { loader, events, redis } = played(outcome);
  expect(await loader.load("sid")).toEqual({ data: null, reason });
  expect([await events(), redis.asked]).toEqual([seen, []]);
});

test.each([
  ["another user", () => "tom", [["corrupt", { part: "user" }]]],
  ["no user ID", () => 1.5, [["corrupt", { part: "userId option" }]]],
])("G12: data that names %s is no session", async (_what, userId, seen) => {
  const { loader, events } = played(found("live", RECORD), userId);
  expect(await loader.load("sid")).toEqual({ data: null, reason: "not_found" });
  expect(await events()).toEqual(seen);
});

test("G12: an anonymous record whose data names a user is no session, a login whose data names nobody is one", async () => {
  const anonymous = played(found("live", ',,n=abc,{"cookie":{}}'), () => "mira");
  expect(await anonymous.loader.load("sid")).toEqual({ data: null, reason: "not_found" });
  const login = await played(found("live", RECORD), () => undefined).loader.load("sid");
  expect(bindingOf(login.data ?? {})?.login?.userId).toBe("mira");
});

test("G11: a login past its absolute end is no session", async () => {
  expect(await played(found("live", RECORD), undefined, 1_000).loader.load("sid")).toEqual({
    data: null,
    reason: "not_found",
  });
});
