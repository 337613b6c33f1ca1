import { beforeAll, expect, test } from "vitest";
import type { Page } from "../support/browser.js";
import { BUILD_TIMEOUT_MS, ensureBuilt } from "../support/build.js";
import { accountOf, isSignInPage, noticeOn, PASSWORDS, shopBehindProxy, signIn } from "../support/example-app.js";
import type { CommandTest, TcpProxy } from "../support/tcp-proxy.js";

const ALICE = "user_login_age:100";

beforeAll(ensureBuilt, BUILD_TIMEOUT_MS);

/** The n-th command from now on that names Alice's counter. */
function nthAboutAlice(nth: number): CommandTest {
  let seen = 0;
  return (words) => words.includes(ALICE) && ++seen === nth;
}

function changeForm(wanted: string): Record<string, string> {
  return { old: PASSWORDS.alice, new: wanted, repeat: wanted };
}

function expectNoInternals({ text }: Page): void {
  expect(text).not.toMatch(/ERR_|Redis|ECONN|127\.0\.0\.1|node_modules|at \w+ \(/);
}

test("G2: a bare INCR logs out every device of that user, and nobody else", async () => {
  const { shop, redis } = await shopBehindProxy();
  const [one, other, bob] = await Promise.all([shop.signedIn("alice"), shop.signedIn("alice"), shop.signedIn("bob")]);
  expect((await one.get("/account")).text).toContain(`redis-cli INCR ${ALICE}`);
  expect(await redis.get(ALICE)).toBe((await accountOf(one))?.generation);
  await redis.incr(ALICE);
  for (const device of [one, other]) {
    const page = await device.get("/account");
    expect([page.status, isSignInPage(page)]).toEqual([401, true]);
    expect(noticeOn(page)).toMatch(/^You were logged out on all your devices\./);
    // Buttons on a page that is still open lead there too.
    expect((await device.post("/log-out-others")).status).toBe(401);
  }
  expect((await accountOf(bob))?.userId).toBe("200");
  expect((await signIn(one, "alice")).status).toBe(303);
  expect((await accountOf(one))?.userId).toBe("100");
});

test("G6: a sign-in that a logout overtakes fails with a friendly page and no cookie", async () => {
  const { shop, proxy, redis } = await shopBehindProxy();
  await shop.signedIn("alice");
  const device = shop.browser();
  const begun = proxy.hold(nthAboutAlice(1));
  const answer = signIn(device, "alice");
  await begun;
  await redis.incr(ALICE);
  proxy.release();
  const page = await answer;
  expect([page.status, isSignInPage(page), page.setCookies]).toEqual([409, true, []]);
  expect(noticeOn(page)).toMatch(/logged out on all devices or its password was changed/);
  expectNoInternals(page);
  expect((await signIn(device, "alice")).status).toBe(303);
});

test("a password change by a login that is ended while the password is checked changes nothing", async () => {
  const { shop, proxy, redis } = await shopBehindProxy();
  const device = await shop.signedIn("alice");
  // The session is read at the start of the request.
  const read = proxy.hold(nthAboutAlice(1));
  const answer = device.post("/account/password", changeForm("a new password"));
  await read;
  await redis.incr(ALICE);
  proxy.release();
  const page = await answer;
  expect([page.status, isSignInPage(page)]).toEqual([409, true]);
  expect((await signIn(shop.browser(), "alice", PASSWORDS.alice)).status).toBe(303);
});

test("a password change whose logout of the others is overtaken still leaves no older login alive", async () => {
  const { shop, proxy, redis } = await shopBehindProxy();
  const device = await shop.signedIn("alice");
  // First the session is read, then it is asked whether it still holds.
  const asked = proxy.hold(nthAboutAlice(2));
  const answer = device.post("/account/password", changeForm("a new password"));
  await asked;
  const overtaken = await redis.incr(ALICE);
  proxy.release();
  const page = await answer;
  expect([page.status, isSignInPage(page)]).toEqual([409, true]);
  expect(noticeOn(page)).toBe("Your password is changed. Please sign in with the new one.");
  // Who signed in with the old password after the overtaking logout is out as well.
  expect(Number(await redis.get(ALICE))).toBeGreaterThan(overtaken);
  expect((await signIn(shop.browser(), "alice", PASSWORDS.alice)).status).toBe(401);
  expect((await signIn(shop.browser(), "alice", "a new password")).status).toBe(303);
});

/** From now on the next script about Alice takes effect, but its reply stays out. */
function loseReply(proxy: TcpProxy): Promise<void> {
  return proxy.hold((words) => words[0]?.startsWith("eval") === true && words.includes(ALICE));
}

test("G8: a logout whose reply is lost is not reported as done, and a button offers to repeat it", async () => {
  const { shop, proxy } = await shopBehindProxy();
  const [one, other] = await Promise.all([shop.signedIn("alice"), shop.signedIn("alice")]);
  const cookies = new Map(one.cookies);
  const lost = loseReply(proxy);
  const page = await one.post("/log-out-others");
  await lost;
  expect([page.status, page.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(one.cookies).toEqual(cookies);
  expect(page.text).toContain("It is not certain that the logout took effect");
  expect(page.text).toContain('action="/log-out-others"');
  expectNoInternals(page);
  proxy.release();
  // It did take effect, and this device did not get its new session: repeating finds everybody out.
  expect(isSignInPage(await one.post("/log-out-others"))).toBe(true);
  expect(await accountOf(other)).toBeUndefined();
});

test("G8: a password change whose logout is uncertain says what is done and what is not", async () => {
  const { shop, proxy } = await shopBehindProxy();
  const [one, other] = await Promise.all([shop.signedIn("alice"), shop.signedIn("alice")]);
  const lost = loseReply(proxy);
  const page = await one.post("/account/password", changeForm("a new password"));
  await lost;
  expect(page.status).toBe(503);
  expect(page.text).toContain("Your password is changed.");
  expect(page.text).toContain("It is not certain that the logout took effect");
  expect(page.text).toContain('action="/log-out-everywhere"');
  expectNoInternals(page);
  proxy.release();
  expect(await accountOf(other)).toBeUndefined();
  expect((await signIn(one, "alice", PASSWORDS.alice)).status).toBe(401);
  expect((await signIn(one, "alice", "a new password")).status).toBe(303);
});

test("G7: while Redis is away every page says try again, and afterwards everybody is still signed in", async () => {
  const { shop, proxy } = await shopBehindProxy();
  const device = await shop.signedIn("alice");
  const stuck = proxy.hold((words) => words.includes(ALICE));
  const pages = [device.get("/account"), device.post("/log-out-everywhere")];
  await stuck;
  for (const page of await Promise.all(pages)) {
    expect([page.status, page.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(page.text).toContain("Please try again");
    expect(page.setCookies).toEqual([]);
    expectNoInternals(page);
  }
  const json = await device.post("/api/admin/users/100/log-out");
  expect([json.status, json.json()]).toEqual([503, { error: "try_again" }]);
  // Nothing that people send needs Redis to be refused, and style sheets do not need it at all.
  expect((await shop.browser().get("/shop.css")).status).toBe(200);
  proxy.release();
  expect((await accountOf(device))?.userId).toBe("100");
  expect(shop.output()).toContain("GET /account: ERR_REDIS_TIMEOUT");
});

test("the log names no session, cookie, user or password", async () => {
  const { shop, proxy } = await shopBehindProxy();
  const device = await shop.signedIn("alice");
  const stuck = proxy.hold((words) => words.includes(ALICE));
  const page = device.post("/account/password", changeForm("a new password"));
  await stuck;
  expect((await page).status).toBe(503);
  const [cookie = ""] = device.cookies.values();
  const sid = decodeURIComponent(cookie).slice(2, 34);
  const log = shop.output();
  expect(log).toContain("POST /account/password: ERR_REDIS_TIMEOUT");
  for (const secret of [sid, ALICE, PASSWORDS.alice, "a new password"]) expect(log).not.toContain(secret);
});
