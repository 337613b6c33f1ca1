import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { RecentSessions } from "../../src/session/recent-sessions.js";
import { parseRecord } from "../../src/session/record.js";

test("recent sessions: the user of a session is remembered, changed and forgotten", () => {
  const recent = new RecentSessions();
  expect(recent.userOf("sid")).toBeUndefined();
  recent.rememberUser("sid", undefined);
  expect(recent.wasExtended("sid", 0, 0, Infinity)).toBe(false);
  recent.rememberUser("sid", "mira");
  recent.rememberUser("sid", "tom");
  expect([recent.userOf("sid"), recent.userOf("other")]).toEqual(["tom", undefined]);
  recent.rememberUser("sid", undefined);
  expect(recent.userOf("sid")).toBeUndefined();
  recent.rememberUser("sid", "mira");
  recent.forget("sid");
  expect(recent.userOf("sid")).toBeUndefined();
});

test("C21: an extension counts for this long, and for no longer life than it gave", () => {
  const recent = new RecentSessions();
  const isExtended = (nowMs: number, lifetimeMs: number): boolean => recent.wasExtended("sid", nowMs, lifetimeMs, 100);
  expect(isExtended(1_000, 5_000)).toBe(false);
  recent.rememberUser("sid", "mira");
  expect(isExtended(1_000, 0)).toBe(false);
  recent.rememberExtension("sid", 1_000, 5_000);
  expect([isExtended(1_000, 5_000), isExtended(1_099, 4_999), isExtended(1_100, 5_000)]).toEqual([true, true, false]);
  expect(isExtended(1_000, 5_001)).toBe(false);
  expect(recent.userOf("sid")).toBe("mira");
  // An earlier one that is noted later changes nothing; one of the same moment does.
  recent.rememberExtension("sid", 999, 9_000);
  expect(isExtended(1_000, 5_001)).toBe(false);
  recent.rememberExtension("sid", 1_000, 9_000);
  expect(isExtended(1_000, 9_000)).toBe(true);
});

test("C21: an extension of a session not seen before is remembered, without a user", () => {
  const recent = new RecentSessions();
  recent.rememberExtension("sid", 1_000, 5_000);
  expect([recent.userOf("sid"), recent.wasExtended("sid", 1_050, 5_000, 100)]).toEqual([undefined, true]);
});

test("recent sessions: the least recently used is forgotten beyond 50 000", () => {
  const recent = new RecentSessions();
  for (let index = 0; index <= 50_000; index += 1) recent.rememberUser(`s${index}`, "mira");
  expect([recent.userOf("s0"), recent.userOf("s1"), recent.userOf("s50000")]).toEqual([undefined, "mira", "mira"]);
  // Sessions of nobody push out none.
  for (let index = 0; index <= 50_000; index += 1) recent.rememberUser(`anonymous-${index}`, undefined);
  expect(recent.userOf("s50000")).toBe("mira");
});

test("memory: what is remembered of a session does not keep its record in memory", () => {
  const recent = new RecentSessions();
  const gc = exposedGc();
  gc();
  const beforeBytes = process.memoryUsage().heapUsed;
  for (let n = 0; n < 1_000; n += 1) {
    const userId = `0b9c1a52-6b3e-4c7f-9d8a-${String(n).padStart(12, "0")}`;
    // A text from bytes, as a reply is: not made of parts that are in memory anyway.
    const text = Buffer.from(`${userId},7,n=xyz,{"cookie":{},"x":"${"y".repeat(50_000)}"}`).toString();
    recent.rememberUser(`sid-${n}`, parseRecord(text)?.login?.userText);
  }
  gc();
  expect(recent.userOf("sid-7")).toBe("0b9c1a52-6b3e-4c7f-9d8a-000000000007");
  expect(process.memoryUsage().heapUsed - beforeBytes).toBeLessThan(5_000_000);
});

function exposedGc(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc");
}
