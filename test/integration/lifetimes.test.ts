import type { SessionData } from "express-session";
import { expect, test } from "vitest";
import { GenerationStore } from "../../src/index.js";
import { sidOf, sleep, testApp, userOf } from "../support/app.js";
import type { Page } from "../support/browser.js";
import { freshClient } from "../support/clients.js";

const TEN_YEARS_MS = 10 * 365.25 * 86_400_000;

function expiresOf(page: Page): number {
  const text = /Expires=([^;]+)/.exec(page.setCookies.join())?.[1];
  return Date.parse(text ?? "");
}

test("C17: rolling: cookie, next read and Redis agree after each response, and a later save works", async () => {
  const { signedIn, client, errors, store } = await testApp({
    session: { rolling: true, cookie: { maxAge: 2_000 } },
  });
  const device = await signedIn("u-42");
  const key = `session:${sidOf(device)}`;
  for (let request = 0; request < 7; request += 1) {
    await sleep(400);
    const page = request === 5 ? await device.post("/set/color/red") : await device.get("/me");
    expect(page.status).toBe(200);
    const inRedis = Date.now() + (await client.pttl(key));
    const read = await store.get(sidOf(device));
    expect(Math.abs(expiresOf(page) - inRedis)).toBeLessThan(1_000 + 200);
    expect(Math.abs(Number(read?.cookie.expires) - inRedis)).toBeLessThan(1_000);
  }
  expect((await device.get("/me")).json()).toEqual({ user: "u-42", data: { color: "red" } });
  expect(errors).toEqual([]);
});

test("C17: without rolling the session goes on while it is used; only the browser's cookie ends at maxAge", async () => {
  const { signedIn } = await testApp({ session: { cookie: { maxAge: 1_500 } }, store: { touchIntervalMs: 0 } });
  const device = await signedIn("u-42");
  const { cookies } = device;
  for (let request = 0; request < 4; request += 1) {
    await sleep(600);
    expect((await device.get("/me")).setCookies).toEqual([]);
  }
  expect(cookies.has("connect.sid")).toBe(true);
  expect(await userOf(device)).toBe("u-42");
  await sleep(1_550);
  expect(await userOf(device)).toBeNull();
});

/** An application with a "remember me" box at login and a page that sets it later; default 60 s. */
function rememberApp(resave = false) {
  return testApp({
    session: { cookie: { maxAge: 60_000 }, resave },
    routes: (app, store) => {
      app.post("/sign-in/:userId", async (req, res) => {
        await store.login(req, req.params.userId);
        if (req.query["remember"] !== undefined) {
          req.session["greeting"] = "hello";
          req.session.cookie.maxAge = 3_600_000;
        }
        res.json({});
      });
      app.post("/remember", (req, res) => {
        req.session.cookie.maxAge = 3_600_000;
        res.json({});
      });
      app.get("/age", (req, res) => {
        res.json({ age: req.session.cookie.originalMaxAge });
      });
    },
  });
}

const ABOUT_AN_HOUR = { least: 3_590_000, most: 3_600_000 + 60_000 };
const ABOUT_A_MINUTE = { least: 50_000, most: 60_000 + 6_000 };

async function expectAge(
  app: Awaited<ReturnType<typeof rememberApp>>,
  device: ReturnType<typeof app.browser>,
  { least, most }: typeof ABOUT_AN_HOUR,
): Promise<void> {
  const { age } = (await device.get("/age")).json<{ age: number }>();
  expect(age).toBeGreaterThan(least);
  expect(age).toBeLessThanOrEqual(most);
  const ttl = await app.client.pttl(`session:${sidOf(device)}`);
  expect(ttl).toBeGreaterThan(least);
  expect(ttl).toBeLessThanOrEqual(most);
}

test.each([true, false])(
  "C18: remember me (a) with other data, (b) alone on a later request; resave %s",
  async (resave) => {
    const app = await rememberApp(resave);
    const [a, b, plain] = [app.browser(), app.browser(), app.browser()];
    await a.post("/sign-in/u-42?remember");
    await b.post("/sign-in/u-42");
    await plain.post("/sign-in/u-42");
    await expectAge(app, a, ABOUT_AN_HOUR);
    await expectAge(app, b, ABOUT_A_MINUTE);
    await b.post("/remember");
    for (let request = 0; request < 3; request += 1) {
      await expectAge(app, a, ABOUT_AN_HOUR);
      await expectAge(app, b, ABOUT_AN_HOUR);
      await expectAge(app, plain, ABOUT_A_MINUTE);
    }
    expect((await b.get("/me")).json()).toEqual({ user: "u-42", data: {} });
    expect((await a.get("/me")).json()).toEqual({ user: "u-42", data: { greeting: "hello" } });

    await a.post("/sign-in/u-42");
    await expectAge(app, a, ABOUT_A_MINUTE);
  },
);

test("C18: a bare record another service wrote keeps 'remember me' too", async () => {
  const app = await rememberApp();
  const device = app.browser();
  await device.post("/sign-in/u-42");
  const key = `session:${sidOf(device)}`;
  await app.client.set(key, `u-42,${await app.store.generation("u-42")}`, "EX", 100);
  await device.post("/remember");
  await expectAge(app, device, ABOUT_AN_HOUR);
  expect(await userOf(device)).toBe("u-42");
});

/** Data whose cookie has this much time left, as a plain object. */
function withTimeLeft(leftMs: number): SessionData {
  return { cookie: { originalMaxAge: null, expires: new Date(Date.now() + leftMs) }, a: 1 } as unknown as SessionData;
}

function withAge(originalMaxAge: number): SessionData {
  return { cookie: { originalMaxAge } } as unknown as SessionData;
}

test("C20: no time left removes the record without an error, by set and by touch", async () => {
  const client = await freshClient();
  const store = new GenerationStore({ client });
  for (const data of [withTimeLeft(-1), withTimeLeft(0), withAge(0), withAge(-1), withAge(-0.5)]) {
    await store.set("a", withAge(60_000));
    await store.set("a", data);
    expect(await client.exists("session:a")).toBe(0);
    await store.set("a", withAge(60_000));
    await store.touch("a", data);
    expect(await client.exists("session:a")).toBe(0);
    await store.set("new", data);
    expect(await client.exists("session:new")).toBe(0);
  }
});

test.each([
  ["1 ms", 1, 1],
  ["999 ms", 999, 999],
  ["1 001 ms", 1_001, 1_001],
  ["1 500.4 ms (rounded up)", 1_500.4, 1_501],
  ["ten years", TEN_YEARS_MS, TEN_YEARS_MS],
  ["more than ten years (capped)", TEN_YEARS_MS + 1, TEN_YEARS_MS],
  ["MAX_SAFE_INTEGER (capped)", Number.MAX_SAFE_INTEGER, TEN_YEARS_MS],
  ["Infinity (capped)", Number.POSITIVE_INFINITY, TEN_YEARS_MS],
  ["NaN (the default)", Number.NaN, 5_000_000],
])("C20: a lifetime of %s is written in milliseconds", async (_what, age, ttlMs) => {
  const client = await freshClient();
  const store = new GenerationStore({ client, touchIntervalMs: 0, ttlMs: 5_000_000 });
  const sent: string[][] = [];
  const { evalsha } = client;
  client.evalsha = ((...args: Parameters<typeof evalsha>) => {
    sent.push(args.map(String));
    return evalsha.apply(client, args);
  }) as typeof evalsha;
  await store.set("a", withAge(age));
  expect(sent.flat()).toContain(String(ttlMs));
  const left = await client.pttl("session:a");
  if (ttlMs > 500) expect(left).toBeGreaterThan(ttlMs - 2_000);
  expect(left).toBeLessThanOrEqual(ttlMs);
  expect(left).not.toBe(-1);
});

test.each([
  ["an invalid Date", new Date(Number.NaN)],
  ["text that is no date", "soon"],
])("C20: %s as expiry means the default lifetime, also for a touch", async (_what, expires) => {
  const client = await freshClient();
  const store = new GenerationStore({ client, touchIntervalMs: 0, ttlMs: 90_000 });
  const data = { cookie: { originalMaxAge: null, expires }, a: 1 } as unknown as SessionData;
  await store.set("a", data);
  expect(await client.pttl("session:a")).toBeGreaterThan(80_000);
  await client.pexpire("session:a", 1_000);
  await store.touch("a", data);
  expect(await client.pttl("session:a")).toBeGreaterThan(80_000);
  expect(await store.get("a")).toMatchObject({ a: 1 });
});

test("C20: through a real response: a cookie expired by the handler ends the session, no 500", async () => {
  const { signedIn, client, errors } = await testApp({
    routes: (app) => {
      app.post("/expire/:ms", (req, res) => {
        req.session["changed"] = req.params.ms;
        req.session.cookie.maxAge = Number(req.params.ms);
        res.json({});
      });
    },
  });
  for (const ms of ["-1", "0"]) {
    const device = await signedIn("u-42");
    const sid = sidOf(device);
    expect((await device.post(`/expire/${ms}`)).status).toBe(200);
    expect(await client.exists(`session:${sid}`)).toBe(0);
    expect(await userOf(device)).toBeNull();
  }
  const long = await signedIn("u-42");
  expect((await long.post(`/expire/${20 * 365 * 86_400_000}`)).status).toBe(200);
  expect(await userOf(long)).toBe("u-42");
  const ttl = await client.pttl(`session:${sidOf(long)}`);
  expect(ttl).toBeLessThanOrEqual(TEN_YEARS_MS);
  expect(ttl).toBeGreaterThan(TEN_YEARS_MS - 60_000);
  expect(errors).toEqual([]);
});
