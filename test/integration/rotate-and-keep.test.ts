import { expect, test } from "vitest";
import { sidOf, testApp } from "../support/app.js";

test("G6: rotate on a visitor's session that was never stored stores nothing and sends no cookie", async () => {
  const { browser, client } = await testApp();
  const page = await browser().post("/rotate");
  expect([page.status, page.setCookies]).toEqual([200, []]);
  expect(await client.keys("*")).toEqual([]);
});

test("G6: rotate moves a stored anonymous session with its data", async () => {
  const { browser, client } = await testApp();
  const device = browser();
  await device.post("/set/cart/book");
  const before = sidOf(device);
  await device.post("/rotate");
  expect(sidOf(device)).not.toBe(before);
  expect((await device.get("/me")).json()).toEqual({ user: null, data: { cart: "book" } });
  expect(await client.exists(`session:${before}`)).toBe(0);
});

test.each([
  [undefined, {}],
  [false, {}],
  [true, { cart: "book", locale: "de" }],
  [["cart"], { cart: "book" }],
])("login keeps what it is told to: %j", async (keep, kept) => {
  const { browser } = await testApp({
    routes: (app, store) => {
      app.post("/keep", async (req, res) => {
        await store.login(req, await store.beginLogin("100"), { keep });
        res.json({});
      });
    },
  });
  const device = browser();
  await device.post("/set/cart/book");
  await device.post("/set/locale/de");
  expect((await device.post("/keep")).status).toBe(200);
  expect((await device.get("/me")).json()).toEqual({ user: "100", data: kept });
});

test("a logoutOthers that cannot move this device still reports the logout", async () => {
  const app = await testApp({
    routes: (express, store) => {
      express.post("/others-on-a-full-redis", async (req, res) => {
        // The new record does not fit; raising the generation needs no memory.
        req.session["ballast"] = "x".repeat(1_000);
        res.json(await store.logoutOthers(req));
      });
    },
    store: { maxSessionBytes: 500 },
  });
  const device = await app.signedIn("100");
  const other = await app.signedIn("100");
  const page = await device.post("/others-on-a-full-redis");
  expect([page.status, page.json()["code"]]).toEqual([500, "ERR_SESSION_TOO_LARGE"]);
  expect((await other.get("/me")).json()["user"]).toBeNull();
  expect(app.events).toContain("logout:everywhere");
});
