import { expect, test } from "vitest";
import { loginOf } from "../../src/index.js";
import { sidOf, testApp, userOf } from "../support/app.js";
import { Gate } from "../support/gate.js";

test("isCurrent(stamp): true for the current generation only, compared as text", async () => {
  const { signedIn, store, client } = await testApp();
  expect(await store.isCurrent({ userId: "100", generation: "1" })).toBe(false);
  const device = await signedIn("100");
  const login = loginOf(await store.get(sidOf(device)));
  if (login === undefined) throw new Error("not logged in");
  const { generation } = login;
  expect(await store.isCurrent(login)).toBe(true);
  expect(await store.isCurrent({ userId: 100, generation })).toBe(true);
  expect(await store.isCurrent({ userId: 100n, generation })).toBe(true);
  const wrong: unknown[] = [
    `0${generation}`,
    ` ${generation}`,
    "",
    "0",
    null,
    undefined,
    Number(generation),
    [generation],
  ];
  for (const each of wrong) {
    expect(await store.isCurrent({ userId: "100", generation: each as string })).toBe(false);
  }
  expect(await store.isCurrent({ userId: "1000", generation })).toBe(false);
  await client.incr("user_login_age:100");
  expect(await store.isCurrent(login)).toBe(false);
  await client.set("user_login_age:100", "undefined");
  expect(await store.isCurrent({ userId: "100", generation: undefined as never })).toBe(false);
});

test("isCurrent(req): asks again in a long handler: a logout, a destroyed session, another user's login", async () => {
  const gates = new Map<string, Gate>();
  const { signedIn, browser, store, client } = await testApp({
    routes: (app, own) => {
      app.get("/long/:name", async (req, res) => {
        const before = await own.isCurrent(req);
        await gates.get(req.params.name)?.pass();
        res.json([before, await own.isCurrent(req)]);
      });
    },
  });
  const during = async (name: string, act: (sid: string) => Promise<unknown>): Promise<unknown> => {
    const gate = new Gate();
    gates.set(name, gate);
    const device = await signedIn("100");
    const page = device.get(`/long/${name}`);
    await gate.arrived;
    await act(sidOf(device));
    gate.open();
    return (await page).json();
  };
  expect(await during("nothing", async () => undefined)).toEqual([true, true]);
  expect(await during("everywhere", () => store.logoutEverywhere("100"))).toEqual([true, false]);
  expect(await during("incr", () => client.incr("user_login_age:100"))).toEqual([true, false]);
  expect(await during("destroy", (sid) => store.destroy(sid))).toEqual([true, false]);
  expect(await during("del", (sid) => client.del(`session:${sid}`))).toEqual([true, false]);
  expect(await during("other user", (sid) => client.set(`session:${sid}`, "200,1", "EX", 100))).toEqual([true, false]);
  gates.set("anonymous", new Gate());
  gates.get("anonymous")?.open();
  expect((await browser().get("/long/anonymous")).json()).toEqual([false, false]);
});

test("isCurrent and generation do not hide that Redis cannot be asked", async () => {
  const { store, client } = await testApp({ store: { commandTimeoutMs: 300 } });
  client.disconnect();
  const failure = { code: "ERR_REDIS_UNAVAILABLE", status: 503 };
  await expect(store.isCurrent({ userId: "100", generation: "1" })).rejects.toMatchObject(failure);
  await expect(store.generation("100")).rejects.toMatchObject(failure);
});

test("generation: undefined without a counter, then the very text in Redis, read-only", async () => {
  const { store, client } = await testApp();
  expect(await store.generation("100")).toBeUndefined();
  expect(await client.exists("user_login_age:100")).toBe(0);
  const { generation } = await store.logoutEverywhere("100");
  expect(await store.generation("100")).toBe(generation);
  expect(await client.get("user_login_age:100")).toBe(generation);
  await client.set("user_login_age:100", "999999999999999999");
  expect(await store.generation("100")).toBe("999999999999999999");
  await client.set("user_login_age:7%2C5", "3");
  expect(await store.generation("7,5")).toBe("3");
});

test("loginOf: of nothing, of a stranger, of a request, of a session, of what readers hand on", async () => {
  for (const value of [undefined, null, {}, { session: null }, { session: undefined }, { session: {} }, "text", 5]) {
    expect(loginOf(value as never)).toBeUndefined();
  }
  // Enumerable data cannot pretend to be a login.
  expect(loginOf({ session: { userId: "100", generation: "1", login: { userId: "100" } } })).toBeUndefined();
  const { signedIn, store, browser } = await testApp({
    routes: (app) => {
      app.get("/logins", (req, res) => {
        res.json([loginOf(req)?.userId ?? null, loginOf(req.session)?.userId ?? null]);
      });
    },
  });
  const device = await signedIn("100");
  expect((await device.get("/logins")).json()).toEqual(["100", "100"]);
  expect((await browser().get("/logins")).json()).toEqual([null, null]);
  expect(loginOf(await store.get(sidOf(device)))).toEqual({
    userId: "100",
    generation: await store.generation("100"),
    at: expect.any(Number),
  });
  expect(await userOf(device)).toBe("100");
});
