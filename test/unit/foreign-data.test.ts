import { expect, test } from "vitest";
import { overwriteStored, storedSession } from "../../src/session/foreign-data.js";
import { LifetimePlan } from "../../src/session/lifetime-plan.js";
import { RecentSessions } from "../../src/session/recent-sessions.js";
import { PlayedConnection } from "../support/played-connection.js";

function parts(absoluteTtlMs?: number) {
  const redis = new PlayedConnection();
  const recent = new RecentSessions();
  const lifetimes = new LifetimePlan({ ttlMs: 5_000, touchIntervalMs: 0 }, absoluteTtlMs);
  return { played: redis, recent, lifetimes, redis: redis.asRedis, sessionPrefix: "session:" };
}

test("G5: data of unknown origin whose cookie is over removes the record", async () => {
  const given = parts();
  const deadline = {} as never;
  expect(await overwriteStored(given, "a", { payload: "{}", lifetimeMs: 0 }, deadline)).toBe("removed");
  expect(given.played.asked).toEqual(["delete session:a"]);
});

test.each([
  ["mira,7", { head: "mira,7", bare: true, payload: undefined }, undefined],
  ['mira,7,n=x,{"cookie":{"path":"/a"}}', { head: "mira,7,n=x,", bare: false }, { path: "/a" }],
])("G5: what is stored as %s is as if it had just been loaded", async (text, binding, cookie) => {
  const given = parts();
  given.played.values.set("session:a", text);
  const stored = await storedSession(given, "a");
  expect(stored?.binding).toMatchObject({ kind: "loaded", login: { userId: "mira" }, ...binding });
  expect(stored?.cookie?.constructor === undefined ? undefined : { ...stored.cookie }).toEqual(
    cookie === undefined ? undefined : expect.objectContaining(cookie),
  );
});

test.each(["", "nonsense", "mira,7,n=x,nonsense", "mira,7,at=1;n=x,{}"])("G5: %j is no session", async (text) => {
  const given = parts(60_000);
  given.played.values.set("session:a", text);
  expect(await storedSession(given, "a")).toBeUndefined();
  expect(await storedSession(given, "none")).toBeUndefined();
});
