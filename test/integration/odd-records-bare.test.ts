import { expect, test } from "vitest";
import { loginOf } from "../../src/index.js";
import { sidOf, type TestApp, testApp, userOf } from "../support/app.js";
import type { Browser } from "../support/browser.js";

/** A device whose record another service, in another language, has written: `SETEX session:<sid> <ttl> 100,1`. */
async function bareDevice(app: TestApp, ttlS = 1_000, user = "100"): Promise<Browser> {
  const device = await app.signedIn("somebody");
  await app.client.set(`user_login_age:${user}`, "1");
  await app.client.setex(`session:${sidOf(device)}`, ttlS, `${user},1`);
  return device;
}

test("bare record `100,1`: read, loginOf, and left as it is by pages that only read", async () => {
  const app = await testApp({ store: { touchIntervalMs: 0 } });
  const device = await bareDevice(app);
  const key = `session:${sidOf(device)}`;
  expect((await device.get("/me")).json()).toEqual({ user: "100", data: {} });
  expect(loginOf(await app.store.get(sidOf(device)))).toEqual({ userId: "100", generation: "1" });
  expect(await app.client.get(key)).toBe("100,1");
});

test("bare record: a save adds data, keeps user and generation, and another request's bare copy saves on", async () => {
  const app = await testApp();
  const device = await bareDevice(app);
  const key = `session:${sidOf(device)}`;
  await device.post("/set/color/red");
  expect(await app.client.get(key)).toMatch(/^100,1,,\{"cookie":\{\},"color":"red"\}$/);
  await device.post("/set/size/xl");
  expect((await device.get("/me")).json()).toEqual({ user: "100", data: { color: "red", size: "xl" } });
  expect(app.errors).toEqual([]);
  expect(app.events).toEqual([]);
});

test.each([true, false])("bare record: its life is not raised above the mount's maxAge; resave %s", async (resave) => {
  const app = await testApp({ store: { touchIntervalMs: 0 }, session: { cookie: { maxAge: 60_000 }, resave } });
  const device = await bareDevice(app, 20);
  const key = `session:${sidOf(device)}`;
  for (const path of ["/me", "/me"]) {
    expect((await device.get(path)).status).toBe(200);
    const ttl = await app.client.pttl(key);
    expect(ttl).toBeLessThanOrEqual(60_000);
    expect(ttl).toBeGreaterThan(50_000);
  }
  await device.post("/set/a/1");
  expect(await app.client.pttl(key)).toBeLessThanOrEqual(60_000);
  expect(await userOf(device)).toBe("100");
});

test("bare record: a life longer than the mount's is not cut by reading", async () => {
  const app = await testApp({ store: { touchIntervalMs: 0 }, session: { cookie: { maxAge: 60_000 } } });
  const device = await bareDevice(app, 5_000);
  await device.get("/me");
  expect(await app.client.ttl(`session:${sidOf(device)}`)).toBeGreaterThan(4_000);
});

test("bare record: touches by hand, which know no maxAge, leave its life alone", async () => {
  const app = await testApp({ store: { touchIntervalMs: 0 } });
  const device = await bareDevice(app, 20);
  const sid = sidOf(device);
  const read = await app.store.get(sid);
  for (const data of [null, {}, read]) {
    await app.store.touch(sid, data as never);
    expect(await app.client.ttl(`session:${sid}`)).toBeLessThanOrEqual(20);
  }
  await app.store.touch(sid, { cookie: { originalMaxAge: 60_000 } } as never);
  expect(await app.client.ttl(`session:${sid}`)).toBeGreaterThan(50);
});

test("bare record: a bare INCR ends it, before and after it was saved", async () => {
  const app = await testApp();
  const bare = await bareDevice(app);
  const saved = await bareDevice(app);
  await saved.post("/set/color/red");
  expect(await Promise.all([bare, saved].map(userOf))).toEqual(["100", "100"]);
  await app.client.incr("user_login_age:100");
  expect(await Promise.all([bare, saved].map(userOf))).toEqual([null, null]);
});

test("bare record: no counter, no login", async () => {
  const app = await testApp();
  const device = await bareDevice(app);
  await app.client.del("user_login_age:100");
  expect(await userOf(device)).toBeNull();
});

test("bare record: a slow save across a logout does not bring it back", async () => {
  const app = await testApp({
    routes: (routes) => {
      routes.post("/slow", async (req, res) => {
        await app.client.incr("user_login_age:100");
        req.session["changed"] = 1;
        res.json({});
      });
    },
  });
  const device = await bareDevice(app);
  expect((await device.post("/slow")).status).toBe(200);
  expect(await userOf(device)).toBeNull();
});

test("bare record: rotate, logoutOthers and login work on it; it never gets a login time it does not have", async () => {
  const app = await testApp();
  const rotated = await bareDevice(app);
  const before = sidOf(rotated);
  expect((await rotated.post("/rotate")).status).toBe(200);
  expect(sidOf(rotated)).not.toBe(before);
  expect(await app.client.exists(`session:${before}`)).toBe(0);
  expect(loginOf(await app.store.get(sidOf(rotated)))).toEqual({ userId: "100", generation: "1" });

  const [kept, other] = [await bareDevice(app), await bareDevice(app)];
  expect((await kept.post("/others")).status).toBe(200);
  expect(await Promise.all([kept, other, rotated].map(userOf))).toEqual(["100", null, null]);

  const switching = await bareDevice(app, 1_000, "200");
  await switching.post("/login/300");
  expect(await userOf(switching)).toBe("300");
});

test("bare record: another user's ID in it is that user's alone", async () => {
  const app = await testApp();
  const device = await bareDevice(app, 1_000, "7%2C5");
  expect(await userOf(device)).toBe("7,5");
  await app.store.logoutEverywhere("7");
  expect(await userOf(device)).toBe("7,5");
  await app.store.logoutEverywhere("7,5");
  expect(await userOf(device)).toBeNull();
});
