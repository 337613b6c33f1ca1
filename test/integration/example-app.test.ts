import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BUILD_TIMEOUT_MS } from "../support/build.js";
import {
  accountOf,
  type ExampleApp,
  freshRedisUrl,
  isSignInPage,
  noticeOn,
  PASSWORDS,
  signIn,
  startExampleApp,
} from "../support/example-app.js";

describe.each(["the embedded store", "Redis"])("the example shop on %s", (place) => {
  let shop: ExampleApp;

  beforeAll(async () => {
    shop = await startExampleApp(place === "Redis" ? { REDIS_URL: (await freshRedisUrl()).url } : {});
  }, BUILD_TIMEOUT_MS);
  afterAll(() => shop?.stop());

  test("says where it keeps the sessions", () => {
    expect(shop.output()).toMatch(place === "Redis" ? /kept in Redis at 127\.0\.0\.1/ : /kept in an embedded store/);
  });

  test("the sign-in page names the demo users", async () => {
    const page = await shop.browser().get("/sign-in");
    expect(page.status).toBe(200);
    expect(isSignInPage(page)).toBe(true);
    expect(noticeOn(page)).toBeUndefined();
    for (const [name, password] of Object.entries(PASSWORDS)) {
      expect(page.text).toContain(`<code>${name}</code>`);
      expect(page.text).toContain(`<code>${password}</code>`);
    }
  });

  test("the account page shows this login's generation and time", async () => {
    const before = Date.now();
    const device = await shop.signedIn("alice");
    const account = await accountOf(device);
    expect(account?.userId).toBe("100");
    expect(account?.generation).toMatch(/^[1-9][0-9]{15}$/);
    // The embedded store rounds its clock to seconds.
    expect(Date.parse(account?.signedInAt ?? "")).toBeGreaterThan(before - 1_500);
    expect(Date.parse(account?.signedInAt ?? "")).toBeLessThan(Date.now() + 1_500);
    expect(await accountOf(device)).toEqual(account);
  });

  test("R-G3, R-G4, R-G5: log out everywhere: the other device gets the sign-in page next; signing in again works", async () => {
    const [one, other, bystander] = await Promise.all([
      shop.signedIn("alice"),
      shop.signedIn("alice"),
      shop.signedIn("bob"),
    ]);
    const before = await accountOf(one);
    const own = await one.follow(await one.post("/log-out-everywhere"));
    expect(isSignInPage(own)).toBe(true);
    expect(noticeOn(own)).toBe("You are logged out on all your devices, this one included.");
    const page = await other.get("/account");
    expect(page.status).toBe(401);
    expect(isSignInPage(page)).toBe(true);
    expect(noticeOn(page)).toMatch(/^You were logged out on all your devices\./);
    expect(await accountOf(one)).toBeUndefined();
    expect((await accountOf(bystander))?.userId).toBe("200");

    const again = await other.follow(await signIn(other, "alice"));
    expect(again.text).toContain("<h1>Your account</h1>");
    const after = await accountOf(other);
    expect(after?.userId).toBe("100");
    expect(after?.generation).not.toBe(before?.generation);
    expect(await accountOf(one)).toBeUndefined();
  });

  test("log out my other devices keeps this one, with its login time", async () => {
    const [one, other] = await Promise.all([shop.signedIn("alice"), shop.signedIn("alice")]);
    const before = await accountOf(one);
    const stolen = one.clone();
    const page = await one.follow(await one.post("/log-out-others"));
    expect(noticeOn(page)).toBe("All your other devices are logged out. This one stays signed in.");
    const after = await accountOf(one);
    expect(after).toEqual({ ...before, generation: after?.generation });
    expect(after?.generation).not.toBe(before?.generation);
    expect(await accountOf(other)).toBeUndefined();
    expect(await accountOf(stolen)).toBeUndefined();
    // The notice is shown once.
    expect(noticeOn(await one.get("/account"))).toBeUndefined();
  });

  test("log out ends this device only, for good", async () => {
    const [one, other] = await Promise.all([shop.signedIn("alice"), shop.signedIn("alice")]);
    const stolen = one.clone();
    const page = await one.follow(await one.post("/log-out"));
    expect(noticeOn(page)).toBe("You signed out on this device.");
    expect(one.cookies.size).toBe(0);
    expect(noticeOn(await stolen.get("/account"))).toMatch(/^Your session has ended or expired/);
    expect((await accountOf(other))?.userId).toBe("100");
  });

  test("R-G5: a password change ends the other device, keeps this one, and the old password no longer works", async () => {
    const [one, other] = await Promise.all([shop.signedIn("bob"), shop.signedIn("bob")]);
    const change = (old: string, wanted: string) => one.post("/account/password", { old, new: wanted, repeat: wanted });
    const page = await one.follow(await change(PASSWORDS.bob, "yes-we-can!"));
    expect(noticeOn(page)).toBe("Your password is changed, and all your other devices are logged out.");
    expect(noticeOn(await other.get("/account"))).toMatch(/^You were logged out on all your devices\./);
    expect((await accountOf(one))?.userId).toBe("200");
    expect((await signIn(other, "bob", PASSWORDS.bob)).status).toBe(401);
    expect((await signIn(other, "bob", "yes-we-can!")).status).toBe(303);
    expect((await change("yes-we-can!", PASSWORDS.bob)).status).toBe(303);
  });

  test("R-G5: an administrator logs out user A, by button or as JSON; user B stays", async () => {
    const [a, b, admin] = await Promise.all([shop.signedIn("alice"), shop.signedIn("bob"), shop.signedIn("carol")]);
    const list = await admin.get("/admin");
    const action = /action="(\/admin\/users\/100\/log-out)"/.exec(list.text)?.[1] ?? "";
    const page = await admin.follow(await admin.post(action));
    expect(noticeOn(page)).toBe("Alice Liddell is logged out on all devices.");
    expect(noticeOn(await a.get("/account"))).toMatch(/^You were logged out on all your devices\./);
    expect((await accountOf(b))?.userId).toBe("200");

    const answer = await admin.post("/api/admin/users/200/log-out");
    expect([answer.status, answer.json()]).toEqual([200, { loggedOut: true }]);
    expect(noticeOn(await b.get("/account"))).toMatch(/^You were logged out on all your devices\./);
    expect((await accountOf(admin))?.userId).toBe("900");
  });
});
