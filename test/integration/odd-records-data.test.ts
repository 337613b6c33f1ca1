import type { SessionOptions } from "express-session";
import { expect, test } from "vitest";
import { sidOf, testApp } from "../support/app.js";

function cyclic(): object {
  const one: { self?: object } = {};
  one.self = one;
  return one;
}

const REFUSED: Readonly<Record<string, () => unknown>> = {
  bigint: () => 10n,
  "nested bigint": () => ({ deep: [{ id: 10n }] }),
  cycle: cyclic,
  "throwing toJSON": () => ({
    toJSON: () => {
      throw new Error("secret contents");
    },
  }),
};

const OPTIONS: Partial<SessionOptions>[] = [
  { resave: false, rolling: false },
  { resave: true, rolling: true },
];

for (const options of OPTIONS) {
  test.each(Object.keys(REFUSED))(
    `C13: %s in the session: answered promptly, error to next, record intact; resave ${options.resave}`,
    async (kind) => {
      const { signedIn, client, errors } = await testApp({
        session: options,
        routes: (app) => {
          app.post("/odd", (req, res) => {
            req.session["good"] = "not saved either";
            req.session["odd"] = REFUSED[kind]?.();
            res.json({ ok: true });
          });
          app.post("/odd/save", (req, res) => {
            req.session["odd"] = REFUSED[kind]?.();
            req.session.save((error) => res.json({ code: (error as { code?: string } | undefined)?.code ?? null }));
          });
        },
      });
      const device = await signedIn("100");
      await device.post("/set/before/1");
      const record = await client.get(`session:${sidOf(device)}`);

      const startedAtMs = performance.now();
      await device.post("/odd");
      expect(performance.now() - startedAtMs).toBeLessThan(2_000);
      expect(errors).toMatchObject([{ code: "ERR_SESSION_NOT_SERIALIZABLE", status: 500 }]);
      expect(await client.get(`session:${sidOf(device)}`)).toBe(record);

      expect((await device.post("/odd/save")).json()).toEqual({ code: "ERR_SESSION_NOT_SERIALIZABLE" });
      expect(await client.get(`session:${sidOf(device)}`)).toBe(record);
      expect((await device.get("/me")).json()).toEqual({ user: "100", data: { before: "1" } });
      for (const error of errors) expect(String(error)).not.toContain("secret contents");
    },
  );
}

test.each(Object.keys(REFUSED))("C13: %s in a new session: answered, nothing half-written", async (kind) => {
  const { browser, client, errors } = await testApp({
    session: { saveUninitialized: true },
    routes: (app) => {
      app.post("/odd", (req, res) => {
        req.session["odd"] = REFUSED[kind]?.();
        res.json({ ok: true });
      });
    },
  });
  await browser().post("/odd");
  expect(errors).toMatchObject([{ code: "ERR_SESSION_NOT_SERIALIZABLE" }]);
  expect(await client.keys("*")).toEqual([]);
});

test("C13: what JSON changes is changed as documented, without an error", async () => {
  const { signedIn, errors } = await testApp({
    routes: (app) => {
      app.post("/lossy", (req, res) => {
        Object.assign(req.session, {
          date: new Date(0),
          nothing: undefined,
          nan: Number.NaN,
          map: new Map([["a", 1]]),
          fn: () => 1,
          nested: { cookie: 1, id: 2, save: 3 },
        });
        res.json({ ok: true });
      });
    },
  });
  const device = await signedIn("100");
  await device.post("/lossy");
  expect((await device.get("/me")).json()).toEqual({
    user: "100",
    data: { date: "1970-01-01T00:00:00.000Z", nan: null, map: {}, nested: { cookie: 1, id: 2, save: 3 } },
  });
  expect(errors).toEqual([]);
});

test("C13: a BigInt user ID is the user of its exact decimal text, and no BigInt enters the session", async () => {
  const id = 2n ** 64n + 1n;
  const { browser, store } = await testApp({
    routes: (app, own) => {
      app.post("/big", async (req, res) => {
        await own.login(req, await own.beginLogin(id));
        res.json({ types: Object.values(req.session).map((value) => typeof value) });
      });
    },
  });
  const device = browser();
  expect((await device.post("/big")).json()).toEqual({ types: ["object"] });
  expect((await device.get("/me")).json()).toEqual({ user: "18446744073709551617", data: {} });
  expect(await store.generation(id)).toBe(await store.generation("18446744073709551617"));
  await store.logoutEverywhere(id);
  expect((await device.get("/me")).json()).toEqual({ user: null, data: {} });
});

test("data that only looks like a Session's own members does not make every request a change", async () => {
  const { signedIn, client } = await testApp();
  const device = await signedIn("100");
  const key = `session:${sidOf(device)}`;
  const text = (await client.get(key)) ?? "";
  const odd =
    '"id":1,"save":2,"constructor":3,"toString":4,"toJSON":5,"__proto__":{"x":1},"req":6,"regenerate":7,"a":8';
  const stored = text.replace(/\}$/, `,${odd}}`);
  await client.set(key, stored, "EX", 1_000);
  expect((await device.get("/me")).json()).toEqual({ user: "100", data: { a: 8 } });
  expect(await client.get(key)).toBe(stored);
});
