import { createRequire } from "node:module";
import type express from "express";
import type { Express } from "express";
import { expect, test } from "vitest";
import { type AdminLogoutOptions, adminLogout, GenerationStore } from "../../src/index.js";
import { type TestApp, testApp, userOf } from "../support/app.js";
import type { Page } from "../support/browser.js";
import { freshClient } from "../support/clients.js";
import { serve } from "../support/serve.js";

async function adminApp(authorize: AdminLogoutOptions["authorize"]): Promise<TestApp> {
  return testApp({
    routes: (app, store) => {
      app.all("/admin/:userId", adminLogout({ store, authorize }));
    },
  });
}

function outcome(page: Page): [number, string] {
  return [page.status, page.text];
}

test("adminLogout: logs out that user everywhere, nobody else, and does not say whether the user exists", async () => {
  const app = await adminApp(() => true);
  const [a, b] = [await app.signedIn("100"), await app.signedIn("200")];
  const admin = app.browser();
  const known = await admin.post("/admin/100");
  const unknown = await admin.post("/admin/nobody");
  expect(outcome(known)).toEqual([200, '{"loggedOut":true}']);
  expect(outcome(unknown)).toEqual(outcome(known));
  expect([...unknown.headers.keys()]).toEqual([...known.headers.keys()]);
  expect(known.headers.get("cache-control")).toBe("private, no-store");
  expect([await userOf(a), await userOf(b)]).toEqual([null, "200"]);
});

test.each(["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"])(
  "adminLogout: %s is 405 and changes nothing",
  async (method) => {
    const app = await adminApp(() => true);
    const device = await app.signedIn("100");
    const page = await app.browser().send(method, "/admin/100");
    expect(page.status).toBe(405);
    expect(page.headers.get("allow")).toBe("POST");
    expect(await userOf(device)).toBe("100");
  },
);

test.each([
  ["cross-site fetch", { "sec-fetch-site": "cross-site" }],
  ["same-site, another origin", { "sec-fetch-site": "same-site" }],
  ["foreign Origin", { origin: "https://evil.example" }],
  ["Origin null", { origin: "null" }],
  ["nonsense Origin", { origin: "%%" }],
  ["same host, other port", { origin: "http://127.0.0.1:1" }],
  ["nonsense fetch site", { "sec-fetch-site": "anything" }],
])("adminLogout: %s is 403 before anybody is asked", async (_what, headers) => {
  let asked = 0;
  const app = await adminApp(() => {
    asked += 1;
    return true;
  });
  const device = await app.signedIn("100");
  expect(outcome(await app.browser().post("/admin/100", {}, headers))).toEqual([403, '{"error":"cross_site"}']);
  expect(asked).toBe(0);
  expect(await userOf(device)).toBe("100");
});

test("adminLogout: same origin, a typed address and clients that are no browser pass", async () => {
  const app = await adminApp(() => true);
  for (const headers of [{ "sec-fetch-site": "same-origin" }, { "sec-fetch-site": "none" }, { origin: app.base }, {}]) {
    expect((await app.browser().post("/admin/100", {}, headers as Record<string, string>)).status).toBe(200);
  }
});

test.each([
  ["false", () => false],
  ["undefined", () => undefined],
  ["1", () => 1],
  ['"true"', () => "true"],
  ["an object", () => ({ isAdmin: true })],
  ["a promise of 1", async () => 1],
  ["a promise of false", async () => false],
  ["a function", () => () => true],
  ["new Boolean(true)", () => Object(true)],
])("adminLogout: authorize answers %s: 403, nobody is logged out", async (_what, authorize) => {
  const app = await adminApp(authorize as never);
  const device = await app.signedIn("100");
  expect(outcome(await app.browser().post("/admin/100"))).toEqual([403, '{"error":"forbidden"}']);
  expect(await userOf(device)).toBe("100");
});

test("adminLogout: authorize is awaited, and sees the request", async () => {
  const seen: unknown[] = [];
  const app = await adminApp(async (req: express.Request) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    seen.push(req.params["userId"]);
    return req.headers["x-admin"] === "yes";
  });
  expect((await app.browser().post("/admin/100")).status).toBe(403);
  expect((await app.browser().post("/admin/100", {}, { "x-admin": "yes" })).status).toBe(200);
  expect(seen).toEqual(["100", "100"]);
});

test.each([
  ["throws", () => raise()],
  ["rejects", async () => raise()],
])("adminLogout: authorize %s: the error goes to next, nobody is logged out", async (_what, authorize) => {
  const app = await adminApp(authorize);
  const device = await app.signedIn("100");
  expect((await app.browser().post("/admin/100")).status).toBe(500);
  expect(app.errors).toMatchObject([{ message: "authorize failed" }]);
  expect(await userOf(device)).toBe("100");
});

test.each([`/admin/${"x".repeat(513)}`, `/admin/${"%7B".repeat(200)}`])(
  "adminLogout: no possible user ID: 400",
  async (path) => {
    const app = await adminApp(() => true);
    expect(outcome(await app.browser().post(path))).toEqual([400, '{"error":"invalid_user_id"}']);
    expect(await app.client.dbsize()).toBe(0);
  },
);

test("adminLogout: a route without :userId is 400, not a logout of somebody", async () => {
  const app = await testApp({
    routes: (routes, store) => {
      routes.post("/admin", adminLogout({ store, authorize: () => true }));
    },
  });
  expect(outcome(await app.browser().post("/admin"))).toEqual([400, '{"error":"invalid_user_id"}']);
});

test("adminLogout: Redis gone: 503 logout_unconfirmed, in time, and nothing of Redis in the answer", async () => {
  const app = await testApp({
    store: { commandTimeoutMs: 500 },
    routes: (routes, store) => {
      routes.post("/admin/:userId", adminLogout({ store, authorize: () => true }));
    },
  });
  app.client.disconnect();
  const startedAtMs = performance.now();
  expect(outcome(await app.browser().post("/admin/100"))).toEqual([503, '{"error":"logout_unconfirmed"}']);
  expect(performance.now() - startedAtMs).toBeLessThan(5_000);
});

test("adminLogout: on Express 4, behind a trusted proxy", async () => {
  const express4 = createRequire(import.meta.url)("express4") as typeof express;
  const store = new GenerationStore({ client: await freshClient() });
  const app: Express = express4();
  app.set("trust proxy", true);
  app.post("/admin/:userId", adminLogout({ store, authorize: async () => true }));
  const base = await serve(app);
  const post = async (headers: Record<string, string>): Promise<number> =>
    (await fetch(`${base}/admin/100`, { method: "POST", headers })).status;
  const forwarded = { "x-forwarded-host": "shop.example" };
  expect(await post({})).toBe(200);
  expect(await post({ origin: base })).toBe(200);
  expect(await post({ ...forwarded, origin: "https://evil.example" })).toBe(403);
  expect(Number(await store.generation("100"))).toBeGreaterThan(0);
});

const STORE: unknown = { logoutEverywhere: () => Promise.reject(new Error("not reached")) };
const YES: unknown = () => true;

test.each<[string, unknown]>([
  ["no options", undefined],
  ["no authorize", { store: STORE }],
  ["no store", { authorize: YES }],
  ["a store that is none", { store: {}, authorize: YES }],
  ["authorize: true", { store: STORE, authorize: true }],
  ["an unknown option", { store: STORE, authorize: YES, authorise: 1 }],
])("adminLogout: %s is a TypeError at once", (_what, options) => {
  expect(() => adminLogout(options as never)).toThrow(TypeError);
});

function raise(): never {
  throw new Error("authorize failed");
}
