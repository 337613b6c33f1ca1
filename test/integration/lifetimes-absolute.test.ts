import type { SessionData } from "express-session";
import { expect, test } from "vitest";
import { loginOf, requireLogin } from "../../src/index.js";
import { sidOf, sleep, type TestApp, testApp, userOf } from "../support/app.js";
import type { Browser } from "../support/browser.js";

const HOUR_MS = 3_600_000;

function absoluteApp(absoluteTtlMs: number): Promise<TestApp> {
  return testApp({
    store: { absoluteTtlMs, touchIntervalMs: 0 },
    session: { cookie: { maxAge: 10 * HOUR_MS }, resave: false },
    routes: (app) => {
      app.get("/at", (req, res) => {
        res.json({ at: loginOf(req)?.at });
      });
      app.post("/remember", (req, res) => {
        req.session.cookie.maxAge = 20 * HOUR_MS;
        res.json({});
      });
    },
  });
}

async function loginTimeOf(device: Browser): Promise<number> {
  return (await device.get("/at")).json<{ at: number }>().at;
}

test("G11: nothing extends a login beyond its absolute end: save, touch, cookie, rotate, logoutOthers, plain set", async () => {
  const app = await absoluteApp(HOUR_MS);
  const device = await app.signedIn("100");
  const at = await loginTimeOf(device);
  const actions: (() => Promise<unknown>)[] = [
    () => device.get("/me"),
    () => device.post("/set/a/1"),
    () => device.post("/remember"),
    () => device.post("/rotate"),
    () => device.post("/others"),
    () => app.store.set(sidOf(device), { cookie: { originalMaxAge: 20 * HOUR_MS }, b: 2 } as unknown as SessionData),
    async () => app.store.touch(sidOf(device), (await app.store.get(sidOf(device))) as SessionData),
    () => app.store.touch(sidOf(device), { cookie: { originalMaxAge: 20 * HOUR_MS } } as unknown as SessionData),
  ];
  for (const action of actions) {
    await sleep(20);
    await action();
    const end = Date.now() + (await app.client.pttl(`session:${sidOf(device)}`));
    expect(end).toBeLessThanOrEqual(at + HOUR_MS + 15);
    expect(end).toBeGreaterThan(at + HOUR_MS - 5_000);
    expect(await loginTimeOf(device)).toBe(at);
    expect(await userOf(device)).toBe("100");
  }
});

test("G11: a login ends at its absolute end, however busy; the next login has its own time", async () => {
  const { signedIn, client } = await absoluteApp(1_200);
  const device = await signedIn("100");
  const first = await loginTimeOf(device);
  while (Date.now() < first + 600) {
    expect(await userOf(device)).toBe("100");
    await sleep(50);
  }
  await sleep(first + 1_250 - Date.now());
  expect(await userOf(device)).toBeNull();
  expect(await client.exists(`session:${sidOf(device)}`)).toBe(0);
  await device.post("/login/100");
  expect(await loginTimeOf(device)).toBeGreaterThan(first);
});

test("G11: reads check the absolute end themselves, even if the key outlives it", async () => {
  const { signedIn, client } = await absoluteApp(600);
  const device = await signedIn("100");
  await client.persist(`session:${sidOf(device)}`);
  await sleep(650);
  expect(await client.exists(`session:${sidOf(device)}`)).toBe(1);
  expect(await userOf(device)).toBeNull();
});

test("G11: an anonymous session is not bounded", async () => {
  const { browser, client } = await absoluteApp(60_000);
  const visitor = browser();
  await visitor.post("/set/cart/1");
  expect(await client.pttl(`session:${sidOf(visitor)}`)).toBeGreaterThan(9 * HOUR_MS);
});

test("G11: a login of unknown time keeps the life its writer gave it, by touch, save, cookie and plain set", async () => {
  const app = await absoluteApp(HOUR_MS);
  const device = await app.signedIn("100");
  const key = `session:${sidOf(device)}`;
  await app.client.set(key, `100,${await app.store.generation("100")}`, "EX", 300);
  const actions: (() => Promise<unknown>)[] = [
    () => device.get("/me"),
    () => device.post("/set/a/1"),
    () => device.post("/remember"),
    () => device.get("/me"),
    () => app.store.set(sidOf(device), { cookie: { originalMaxAge: 20 * HOUR_MS }, b: 2 } as unknown as SessionData),
    () => app.store.touch(sidOf(device), { cookie: { originalMaxAge: 9 * HOUR_MS } } as unknown as SessionData),
  ];
  for (const action of actions) {
    await action();
    const ttl = await app.client.pttl(key);
    expect(ttl).toBeLessThanOrEqual(300_000);
    expect(ttl).toBeGreaterThan(290_000);
    expect(await userOf(device)).toBe("100");
  }
});

test("G11: `at` is Redis' time of the login; only login sets it", async () => {
  const { signedIn, client } = await testApp({
    routes: (app) => {
      app.get("/at", (req, res) => {
        res.json({ at: loginOf(req)?.at });
      });
    },
  });
  const [before] = (await client.time()).map(Number);
  const device = await signedIn("100");
  const at = await loginTimeOf(device);
  expect(at / 1_000).toBeGreaterThanOrEqual(Number(before));
  expect(at / 1_000).toBeLessThan(Number(before) + 10);
  await sleep(5);
  for (const action of ["/set/a/1", "/rotate", "/set/a/2", "/others"]) {
    await device.post(action);
    expect(await loginTimeOf(device)).toBe(at);
  }
  await device.post("/login/100");
  expect(await loginTimeOf(device)).toBeGreaterThan(at);
});

test("G11: requireLogin({ maxAgeMs }): a login that is too old, or of unknown time, must sign in again", async () => {
  const { signedIn, browser, client, store } = await testApp({
    routes: (app) => {
      app.get("/private", requireLogin(), (_req, res) => {
        res.json({ ok: true });
      });
      app.get("/sensitive", requireLogin({ maxAgeMs: 500 }), (_req, res) => {
        res.json({ ok: true });
      });
    },
  });
  const stranger = await browser().get("/private");
  expect([stranger.status, stranger.text]).toEqual([401, '{"error":"login_required"}']);
  expect(stranger.headers.get("cache-control")).toBe("private, no-store");

  const device = await signedIn("100");
  expect((await device.get("/sensitive")).status).toBe(200);
  await sleep(550);
  await device.post("/rotate");
  const old = await device.get("/sensitive");
  expect([old.status, old.text]).toEqual([401, '{"error":"login_too_old"}']);
  expect(old.headers.get("cache-control")).toBe("private, no-store");
  expect((await device.get("/private")).status).toBe(200);

  await client.set(`session:${sidOf(device)}`, `100,${await store.generation("100")}`, "EX", 100);
  expect((await device.get("/sensitive")).text).toBe('{"error":"login_too_old"}');
  expect((await device.get("/private")).status).toBe(200);

  await store.logoutEverywhere("100");
  expect((await device.get("/private")).text).toBe('{"error":"login_required"}');
});
