import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Browser, Page } from "../support/browser.js";
import { BUILD_TIMEOUT_MS } from "../support/build.js";
import { accountOf, type ExampleApp, isSignInPage, noticeOn, signIn, startExampleApp } from "../support/example-app.js";

const POST_ROUTES = [
  "/log-out",
  "/log-out-others",
  "/log-out-everywhere",
  "/account/password",
  "/admin/users/100/log-out",
];

describe("the example shop", () => {
  let shop: ExampleApp;
  let alice: Browser;

  beforeAll(async () => {
    shop = await startExampleApp();
    alice = await shop.signedIn("alice");
  }, BUILD_TIMEOUT_MS);
  afterAll(() => shop?.stop());

  test("the cookie has a name of its own and is httpOnly, sameSite, limited in time, and random", async () => {
    const device = shop.browser();
    const [cookie = "", ...more] = (await signIn(device, "bob")).setCookies;
    expect(more).toEqual([]);
    const [pair = "", ...attributes] = cookie.split("; ");
    expect(pair).toMatch(/^shop=s%3A[\w-]{32}\.[\w%-]+$/);
    expect(attributes).toEqual(["Path=/", expect.stringMatching(/^Expires=/), "HttpOnly", "SameSite=Lax"]);
    const expiresMs = Date.parse(attributes[1]?.slice("Expires=".length) ?? "");
    expect(Math.abs(expiresMs - Date.now() - 86_400_000)).toBeLessThan(10_000);
  });

  test("visitors get no cookie, and leaving takes it away", async () => {
    expect((await shop.browser().get("/sign-in")).setCookies).toEqual([]);
    expect((await shop.browser().get("/account")).setCookies).toEqual([]);
    const [cleared] = (await shop.browser().post("/log-out")).setCookies;
    expect(cleared).toBe("shop=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; SameSite=Lax");
  });

  test("no page may be cached, framed or run scripts", async () => {
    const pages = [await alice.get("/account"), await alice.get("/sign-in"), await shop.browser().get("/account")];
    for (const { headers } of pages) {
      expect(headers.get("cache-control")).toBe("private, no-store");
      expect(headers.get("content-security-policy")).toContain("default-src 'none'");
      expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("x-powered-by")).toBeNull();
    }
    const { text } = pages[0] as Page;
    expect(text).not.toMatch(/<script|style=|onclick/);
    expect((await shop.browser().get("/shop.css")).headers.get("content-type")).toMatch(/^text\/css/);
  });

  test.each([
    ["another site", { "sec-fetch-site": "cross-site" }],
    ["a subdomain", { "sec-fetch-site": "same-site" }],
    ["another origin, in an old browser", { origin: "https://evil.example" }],
    ["a sandboxed frame", { origin: "null" }],
    ["an empty answer", { "sec-fetch-site": "" }],
  ])("a POST from %s is refused and changes nothing", async (_where, headers) => {
    const before = await accountOf(alice);
    for (const route of [...POST_ROUTES, "/sign-in"]) {
      const page = await alice.post(route, { name: "bob", password: "can-we-fix-it" }, headers);
      expect([route, page.status]).toEqual([route, 403]);
      expect(page.setCookies).toEqual([]);
    }
    expect((await alice.post("/api/admin/users/100/log-out", {}, headers)).status).toBe(403);
    expect(await accountOf(alice)).toEqual(before);
  });

  test("a POST from the shop's own pages passes", async () => {
    const wrong = { name: "alice", password: "wrong" };
    for (const headers of [{ "sec-fetch-site": "same-origin" }, { origin: shop.base }]) {
      expect((await shop.browser().post("/sign-in", wrong, headers)).status).toBe(401);
    }
  });

  test("GET, PUT and DELETE on what only takes POST do nothing", async () => {
    const before = await accountOf(alice);
    for (const route of POST_ROUTES) {
      for (const method of ["GET", "PUT", "DELETE"]) {
        const page = await alice.send(method, route);
        expect([method, route, page.status, page.headers.get("allow")]).toEqual([method, route, 405, "POST"]);
      }
    }
    expect(await accountOf(alice)).toEqual(before);
  });

  test("what comes from outside is escaped", async () => {
    const page = await signIn(shop.browser(), `"><script>alert('x')</script>&`, "wrong");
    expect(page.text).toContain('value="&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;"');
    expect(page.text).not.toContain("<script");
    const query = await shop.browser().get("/sign-in?notice=<script>alert(1)</script>");
    expect(noticeOn(query)).toBeUndefined();
    expect(query.text).not.toContain("<script");
    const missing = await shop.browser().get("/<script>alert(1)</script>");
    expect([missing.status, missing.text.includes("alert")]).toEqual([404, false]);
  });

  test("the address can make the sign-in page say only that somebody signed out", async () => {
    for (const notice of ["wrong", "logged_out", "password_set", "constructor", "__proto__"]) {
      expect(noticeOn(await shop.browser().get(`/sign-in?notice=${notice}`))).toBeUndefined();
    }
    expect(noticeOn(await shop.browser().get("/sign-in?notice=signed_out&notice=wrong"))).toBeUndefined();
  });

  test("customers cannot reach the admin page or log anybody out, and a sign-in leads to the shop's pages only", async () => {
    const bob = await shop.signedIn("bob");
    expect((await bob.get("/admin")).status).toBe(403);
    expect((await bob.post("/admin/users/100/log-out")).status).toBe(403);
    expect((await bob.post("/api/admin/users/100/log-out")).status).toBe(403);
    expect((await shop.browser().post("/admin/users/100/log-out")).status).toBe(401);
    expect((await shop.browser().post("/api/admin/users/100/log-out")).status).toBe(401);
    expect((await accountOf(alice))?.userId).toBe("100");
    const elsewhere = { name: "bob", password: "can-we-fix-it", next: "//evil.example/" };
    expect((await shop.browser().post("/sign-in", elsewhere)).headers.get("location")).toBe("/account");
  });

  test("an administrator's request about an unknown user is answered as such", async () => {
    const admin = await shop.signedIn("carol");
    expect((await admin.post("/admin/users/12345/log-out")).status).toBe(404);
    expect((await admin.post("/api/admin/users/12345/log-out")).json()).toEqual({ loggedOut: true });
    expect((await admin.post("/admin/users/%E0%A4%A/log-out")).status).toBe(400);
  });
});

test("admin pages ask for the password again when the login is old", async () => {
  // The embedded store's clock may be half a second ahead.
  const shop = await startExampleApp({ ADMIN_MAX_AGE_MS: "1" });
  try {
    const admin = await shop.signedIn("carol");
    await expect.poll(async () => (await admin.get("/admin")).status, { timeout: 5_000 }).toBe(401);
    const page = await admin.get("/admin");
    expect(isSignInPage(page)).toBe(true);
    expect(noticeOn(page)).toMatch(/^You signed in a while ago\./);
    expect(page.text).toContain('<input type="hidden" name="next" value="/admin">');
    expect((await admin.post("/admin/users/900/log-out")).status).toBe(401);
    expect((await admin.post("/api/admin/users/900/log-out")).json()).toEqual({ error: "login_too_old" });
    expect((await accountOf(admin))?.userId).toBe("900");
    const again = await admin.post("/sign-in", { name: "carol", password: "open-sesame", next: "/admin" });
    expect(again.headers.get("location")).toBe("/admin");
  } finally {
    await shop.stop();
  }
});

test("behind TLS the cookie is secure and bound to the host, and plain http is refused", async () => {
  const shop = await startExampleApp({ TRUST_PROXY: "1" });
  try {
    const form = { name: "alice", password: "tea-party" };
    const throughTls = {
      "x-forwarded-proto": "https",
      "x-forwarded-host": "shop.example",
      origin: "https://shop.example",
    };
    const device = shop.browser();
    const answer = await device.post("/sign-in", form, throughTls);
    expect(answer.status).toBe(303);
    expect(answer.setCookies).toHaveLength(1);
    expect(answer.setCookies[0]).toMatch(/^__Host-shop=s%3A.*; Path=\/; Expires=.*; HttpOnly; Secure; SameSite=Lax$/);
    expect(answer.headers.get("strict-transport-security")).toMatch(/^max-age=\d+$/);
    expect((await device.get("/account", throughTls)).status).toBe(200);
    expect((await device.get("/account")).status).toBe(400);
    expect((await device.post("/log-out", {}, { ...throughTls, origin: "https://evil.example" })).status).toBe(403);
    const gone = await device.post("/log-out", {}, throughTls);
    expect(gone.setCookies[0]).toMatch(
      /^__Host-shop=; Path=\/; Expires=Thu, 01 Jan 1970 .*; HttpOnly; Secure; SameSite=Lax$/,
    );
  } finally {
    await shop.stop();
  }
});
