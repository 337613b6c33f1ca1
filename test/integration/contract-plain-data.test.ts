import type { SessionData } from "express-session";
import { expect, test } from "vitest";
import { loginOf } from "../../src/index.js";
import { sidOf, testApp, userOf } from "../support/app.js";

function plain(data: object): SessionData {
  return { cookie: { originalMaxAge: 60_000 }, ...data } as unknown as SessionData;
}

test("store.set with a plain object: a new one becomes an anonymous session that a browser could use", async () => {
  const { store, client } = await testApp();
  await store.set("by-hand", plain({ a: 1 }));
  expect(await client.get("session:by-hand")).toMatch(/^,,n=[\w-]+,\{"cookie":\{"originalMaxAge":60000\},"a":1\}$/);
  const read = await store.get("by-hand");
  expect(read).toMatchObject({ a: 1 });
  expect(loginOf(read)).toBeUndefined();
  await store.set("by-hand", plain({ b: 2 }));
  expect(await store.get("by-hand")).not.toHaveProperty("a");
});

test("store.set with a plain object changes a logged-in record's data in place and keeps its head", async () => {
  const { signedIn, store, client } = await testApp();
  const device = await signedIn("100");
  const key = `session:${sidOf(device)}`;
  const head = /^100,\d+,at=\d+;n=[\w-]+,/.exec((await client.get(key)) ?? "")?.[0];
  expect(head).toBeDefined();
  await store.set(sidOf(device), plain({ a: 1, userId: "200", user: "200" }));
  expect(await client.get(key)).toMatch(new RegExp(`^${head}\\{`));
  expect((await device.get("/me")).json()).toEqual({ user: "100", data: { a: 1, userId: "200", user: "200" } });
});

test("store.set with plain data keeps a bare record's user too", async () => {
  const { store, client } = await testApp();
  await client.set("user_login_age:100", "1");
  await client.set("session:bare", "100,1", "EX", 100);
  await store.set("bare", plain({ a: 1 }));
  expect(await client.get("session:bare")).toMatch(/^100,1,,\{/);
  expect(loginOf(await store.get("bare"))).toEqual({ userId: "100", generation: "1" });
});

test("store.set with plain data cannot bring a logged-out record back", async () => {
  const { signedIn, store } = await testApp();
  const device = await signedIn("100");
  await store.logoutEverywhere("100");
  await store.set(sidOf(device), plain({ a: 1 }));
  expect(await store.get(sidOf(device))).toBeNull();
  expect(await userOf(device)).toBeNull();
});

test("logged-in data given to another session ID, or cloned, logs nobody in there", async () => {
  const { signedIn, store, client } = await testApp();
  const device = await signedIn("100");
  const read = await store.get(sidOf(device));
  if (read === null) throw new Error("no session");
  const copies = {
    same: read,
    spread: { ...read },
    cloned: structuredClone(read),
    json: JSON.parse(JSON.stringify(read)),
    inherited: Object.create(read, { cookie: { value: read.cookie, enumerable: true } }),
  };
  for (const [name, copy] of Object.entries(copies)) {
    await store.set(`thief-${name}`, copy);
    expect(await client.get(`session:thief-${name}`)).toMatch(/^,,n=/);
    expect(loginOf(await store.get(`thief-${name}`))).toBeUndefined();
  }
  expect(await userOf(device)).toBe("100");
});

test("logged-in data over an anonymous or another user's record leaves whose it is", async () => {
  const { signedIn, browser, store } = await testApp();
  const [hundred, two] = [await signedIn("100"), await signedIn("200")];
  const anonymous = browser();
  await anonymous.post("/set/cart/1");
  await hundred.post("/set/from/hundred");
  const read = await store.get(sidOf(hundred));
  if (read === null) throw new Error("no session");
  await store.set(sidOf(two), read);
  await store.set(sidOf(anonymous), read);
  expect((await two.get("/me")).json()).toEqual({ user: "200", data: { from: "hundred" } });
  expect((await anonymous.get("/me")).json()).toEqual({ user: null, data: { from: "hundred" } });
});

test("data from store.get may be saved back under its own ID; not after the session ended", async () => {
  const { signedIn, store, client, events } = await testApp();
  const device = await signedIn("100");
  const sid = sidOf(device);
  const [first, second] = [await store.get(sid), await store.get(sid)];
  if (first === null || second === null) throw new Error("no session");
  await store.set(sid, Object.assign(first, { a: 1 }));
  expect((await device.get("/me")).json()).toEqual({ user: "100", data: { a: 1 } });
  await device.post("/logout");
  await store.set(sid, Object.assign(second, { b: 1 }));
  expect(await client.exists(`session:${sid}`)).toBe(0);
  expect(events).toContain("fenced:ended");
});

test("session IDs of any form stay apart, with what follows the prefix taken literally", async () => {
  const { store, client } = await testApp();
  const ids = ["a", "a:b", "*", "a*", "[a]", "a b", "{x}", "é", "\n", "%41", "A", "100,1", "~taken:x"];
  for (const [index, sid] of ids.entries()) await store.set(sid, plain({ index }));
  for (const [index, sid] of ids.entries()) expect(await store.get(sid)).toMatchObject({ index });
  expect((await store.ids()).sort()).toEqual([...ids].sort());
  await store.destroy("*");
  expect(await client.dbsize()).toBe(ids.length - 1);
});
