import type { SessionData } from "express-session";
import { expect, onTestFinished, test } from "vitest";
import { GenerationStore, loginOf } from "../../src/index.js";
import { sidOf, testApp } from "../support/app.js";
import { connect, freshClient, freshDatabase } from "../support/clients.js";

function data(a: unknown): SessionData {
  return { cookie: { originalMaxAge: 60_000 }, a } as unknown as SessionData;
}

async function fill(store: GenerationStore, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => `sid-${index}`);
  await Promise.all(ids.map((sid, index) => store.set(sid, data(index))));
  return ids;
}

test("all, ids, length: nothing in an empty store", async () => {
  const store = new GenerationStore({ client: await freshClient() });
  expect([await store.all(), await store.ids(), await store.length()]).toEqual([[], [], 0]);
  await store.clear();
});

test("all: good sessions only, each with its id and its login; ids and length count records", async () => {
  const { signedIn, browser, store, client } = await testApp();
  const [one, two] = [await signedIn("100"), await signedIn("200")];
  const anonymous = browser();
  await anonymous.post("/set/a/1");
  await client.set("session:corrupt", "nonsense");
  await client.lpush("session:list", "x");
  await store.logoutEverywhere("200");
  const all = await store.all();
  expect(all.map(({ id }) => id).sort()).toEqual([sidOf(one), sidOf(anonymous)].sort());
  expect(all.map((each) => loginOf(each)?.userId).sort()).toEqual(["100", undefined]);
  expect((await store.ids()).sort()).toEqual(
    [one, two, anonymous]
      .map((device) => sidOf(device))
      .concat("corrupt", "list")
      .sort(),
  );
  expect(await store.length()).toBe(5);
});

test("all, ids, length, clear with callbacks", async () => {
  const store = new GenerationStore({ client: await freshClient() });
  await fill(store, 3);
  const called = <T>(
    method: (callback: (error: unknown, value?: T | null) => void) => unknown,
  ): Promise<T | null | undefined> =>
    new Promise((resolve, reject) => {
      expect(method((error, value) => (error ? reject(error) : resolve(value)))).toBeUndefined();
    });
  expect(await called<SessionData[]>((callback) => store.all(callback))).toHaveLength(3);
  expect(await called<string[]>((callback) => store.ids(callback))).toHaveLength(3);
  expect(await called<number>((callback) => store.length(callback))).toBe(3);
  await called((callback) => store.clear(callback));
  expect(await store.length()).toBe(0);
});

const PREFIXES = ["session:", "a*:", "s[ab]?:", "back\\slash:", "{tag}:", "*", "[", "é:"];

test.each(PREFIXES)("clear with the prefix %j: its sessions and nothing else", async (sessionPrefix) => {
  const client = await freshClient();
  const store = new GenerationStore({ client, sessionPrefix });
  await fill(store, 5);
  const others = [
    "user_login_age:100",
    "sb:x",
    "sax:",
    "aXX:1",
    "abc:1",
    "backslash:1",
    "tag:1",
    "x",
    "session",
    "Session:1",
  ];
  for (const key of others) await client.set(key, "1");
  expect((await store.ids()).sort()).toEqual(["sid-0", "sid-1", "sid-2", "sid-3", "sid-4"]);
  expect(await store.length()).toBe(5);
  await store.clear();
  expect((await client.keys("*")).sort()).toEqual([...others].sort());
});

test("two applications on one server, one client keyPrefix each: neither lists or clears the other's", async () => {
  const { port, db } = await freshDatabase();
  const clients = ["a:", "b*:", ""].map((keyPrefix) => connect(port, { db, keyPrefix }));
  onTestFinished(() => {
    for (const client of clients) client.disconnect();
  });
  const [a, b, bare] = clients;
  if (a === undefined || b === undefined || bare === undefined) throw new Error("no client");
  const [storeA, storeB] = [new GenerationStore({ client: a }), new GenerationStore({ client: b })];
  await fill(storeA, 4);
  await fill(storeB, 3);
  await bare.set("bX:session:not-b", "1");
  await storeA.beginLogin("100");
  await storeB.beginLogin("100");
  expect([await storeA.length(), await storeB.length()]).toEqual([4, 3]);
  expect((await storeB.ids()).sort()).toEqual(["sid-0", "sid-1", "sid-2"]);
  expect((await storeA.all()).map(({ id }) => id).sort()).toEqual(["sid-0", "sid-1", "sid-2", "sid-3"]);
  await storeB.clear();
  expect([await storeA.length(), await storeB.length()]).toEqual([4, 0]);
  const left = await bare.keys("*");
  expect(left.sort()).toEqual(
    ["a:session:sid-0", "a:session:sid-1", "a:session:sid-2", "a:session:sid-3"]
      .concat("a:user_login_age:100", "b*:user_login_age:100", "bX:session:not-b")
      .sort(),
  );
});

test("2 000 sessions: all of them, each once; clear leaves the counters", async () => {
  const client = await freshClient();
  // All at once on a busy machine: it is the listing that is tested, not its pace.
  const store = new GenerationStore({ client, commandTimeoutMs: 15_000 });
  const ids = await fill(store, 2_000);
  for (let user = 0; user < 20; user += 1) await store.beginLogin(user);
  expect((await store.ids()).sort()).toEqual(ids.sort());
  const all = await store.all();
  expect(all.map(({ id }) => id).sort()).toEqual(ids);
  expect(all.every((each) => typeof (each as unknown as { a: number }).a === "number")).toBe(true);
  expect(await store.length()).toBe(2_000);
  await store.clear();
  expect(await store.length()).toBe(0);
  expect(await client.dbsize()).toBe(20);
});

test("clear ends logins in this process at once", async () => {
  const { signedIn, store } = await testApp();
  const device = await signedIn("100");
  await store.clear();
  expect((await device.get("/me")).json()).toEqual({ user: null, data: {} });
});
