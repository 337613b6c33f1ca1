import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { hasLifetime, lifetimeMs, MAX_LIFETIME_MS, touchSlackMs } from "../../src/session/lifetime.js";
import { LifetimePlan } from "../../src/session/lifetime-plan.js";

const NOW_MS = 1_700_000_000_000;
const POLICY = { ttlMs: 9_000.5, touchIntervalMs: 1_000 };
const TEN_YEARS_MS = 315_576_000_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW_MS });
});
afterEach(() => vi.useRealTimers());

test.each([
  [{}, 9_001],
  [{ originalMaxAge: null }, 9_001],
  [{ originalMaxAge: "5000" }, 9_001],
  [{ originalMaxAge: Number.NaN }, 9_001],
  [{ originalMaxAge: 4_999.5 }, 5_000],
  [{ originalMaxAge: null, maxAge: 5_000 }, 5_000],
  [{ originalMaxAge: 4_000, maxAge: 5_000 }, 4_000],
  [{ originalMaxAge: 0 }, 0],
  [{ originalMaxAge: -5 }, 0],
  [{ originalMaxAge: Number.POSITIVE_INFINITY }, TEN_YEARS_MS],
  [{ expires: new Date(NOW_MS + 5_000) }, 5_000],
  [{ expires: new Date(NOW_MS + 5_000).toISOString(), originalMaxAge: 7 }, 5_000],
  [{ expires: new Date(Number.NaN), originalMaxAge: 7 }, 7],
  [{ expires: NOW_MS + 5_000, originalMaxAge: 7 }, 7],
  [{ expires: new Date(NOW_MS) }, 0],
])("C17: a cookie %j lets its session live for %i ms", (cookie, expected) => {
  expect(lifetimeMs(cookie, POLICY)).toBe(expected);
});

test("C17: a cookie has a lifetime if it says one", () => {
  const saying = [{ originalMaxAge: 0 }, { expires: new Date() }];
  const silent = [{}, { originalMaxAge: null }, null, undefined, "text"];
  expect([saying.map(hasLifetime), silent.map(hasLifetime)]).toEqual([Array(2).fill(true), Array(5).fill(false)]);
});

test("C21: the slack is the touch interval, at most a tenth of the lifetime", () => {
  expect([10_000, 9_999, 20_000].map((lifetime) => touchSlackMs(lifetime, POLICY))).toEqual([1_000, 999, 1_000]);
  expect(MAX_LIFETIME_MS).toBe(TEN_YEARS_MS);
});

const unbounded = new LifetimePlan(POLICY, undefined);
const bounded = new LifetimePlan(POLICY, 60_000);
const loginAt = (at: number | undefined): { userId: string; userText: string; generation: string; at: typeof at } => ({
  userId: "mira",
  userText: "mira",
  generation: "7",
  at,
});

test("C17: a session that exists for a token alone lives as long as the token", () => {
  const cookie = { originalMaxAge: 5_000 };
  const lifetimes = [
    [{ cookie }, false],
    [{ cookie, submitTokenMs: 1_999.5 }, false],
    [{ cookie, submitTokenMs: 0 }, false],
    [{ cookie, submitTokenMs: 6_000 }, false],
    [{ cookie, submitTokenMs: "7" }, false],
    [{ cookie, submitTokenMs: 7, cart: 1 }, false],
    [{ cookie, submitTokenMs: 7 }, true],
  ] as const;
  expect(lifetimes.map(([data, isLoggedIn]) => unbounded.ofSession(data, isLoggedIn))).toEqual([
    5_000, 2_000, 1, 5_000, 5_000, 5_000, 5_000,
  ]);
  expect([unbounded.ofCookie(undefined), unbounded.ofCookie(null)]).toEqual([9_001, 9_001]);
});

test("G11: scripts are told the absolute lifetime, if there is one", () => {
  expect([unbounded.absoluteTtlMs, bounded.absoluteTtlMs]).toEqual(["", "60000"]);
});

test("G11: a record that is written whole ends with its login", () => {
  expect([unbounded.ttlMs(10_000, loginAt(1)), bounded.ttlMs(10_000, undefined)]).toEqual([11_000, 11_000]);
  expect(unbounded.ttlMs(MAX_LIFETIME_MS, undefined)).toBe(TEN_YEARS_MS);
  const left = [undefined, NOW_MS, NOW_MS - 59_000, NOW_MS - 70_000].map((at) => bounded.ttlMs(80_000, loginAt(at)));
  expect(left).toEqual([60_000, 60_000, 1_000, 1]);
  expect(bounded.ttlMs(10_000, loginAt(NOW_MS))).toBe(11_000);
});

test("G11: an update is bounded by the login's time, a new login by its lifetime, an unknown time by what is there", () => {
  const update = (lifetime: number, at: number | undefined, isNew = false): string[] =>
    Object.values(bounded.update(lifetime, loginAt(at), isNew));
  expect(update(10_000, NOW_MS)).toEqual(["11000", String(NOW_MS + 60_000)]);
  expect(update(10_000, undefined)).toEqual(["", ""]);
  expect([update(10_000, undefined, true), update(80_000, undefined, true)]).toEqual([
    ["11000", ""],
    ["60000", ""],
  ]);
  expect(update(0, NOW_MS)).toEqual(["0", ""]);
  expect(bounded.update(10_000, undefined, false)).toEqual({ ttlMs: "11000", notAfterMs: "" });
  expect(unbounded.update(10_000, loginAt(1), false)).toEqual({ ttlMs: "11000", notAfterMs: "" });
});

test("G11: a replaced cookie keeps the end of a login of unknown time", () => {
  expect(bounded.replacementTtlMs(10_000, loginAt(undefined))).toBe("");
  expect([
    bounded.replacementTtlMs(10_000, loginAt(NOW_MS - 59_000)),
    bounded.replacementTtlMs(10_000, undefined),
    unbounded.replacementTtlMs(10_000, loginAt(undefined)),
  ]).toEqual(["1000", "11000", "11000"]);
});

test("G11: a touch is bounded where the end is near, by clocks that may differ by a minute", () => {
  const long = new LifetimePlan(POLICY, 100_000);
  expect([long.extension(10_000, undefined), unbounded.extension(10_000, loginAt(1))]).toEqual([
    { ttlMs: 11_000 },
    { ttlMs: 11_000 },
  ]);
  expect(long.extension(10_000, loginAt(undefined))).toBeUndefined();
  expect(long.extension(10_000, loginAt(NOW_MS - 28_999))).toEqual({ ttlMs: 11_000 });
  expect(long.extension(10_000, loginAt(NOW_MS - 29_000))).toEqual({ ttlMs: 11_000, notAfterMs: NOW_MS + 71_000 });
});

test("G11: a login is over at its absolute end", () => {
  const over = [NOW_MS - 59_999, NOW_MS - 60_000, undefined].map((at) => bounded.isOver(loginAt(at)));
  expect([over, bounded.isOver(undefined), unbounded.isOver(loginAt(1))]).toEqual([[false, true, false], false, false]);
});
