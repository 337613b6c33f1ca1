import { afterAll, beforeAll, expect, test } from "vitest";
import type { Browser } from "../support/browser.js";
import { BUILD_TIMEOUT_MS } from "../support/build.js";
import {
  accountOf,
  type ExampleApp,
  isSignInPage,
  noticeOn,
  PASSWORDS,
  signIn,
  startExampleApp,
} from "../support/example-app.js";

let shop: ExampleApp;
let alice: Browser;

beforeAll(async () => {
  shop = await startExampleApp();
  alice = await shop.signedIn("alice");
}, BUILD_TIMEOUT_MS);
afterAll(() => shop?.stop());

test.each([
  [
    "a wrong current password",
    { old: "wrong", new: "long enough", repeat: "long enough" },
    /current password is wrong/,
  ],
  ["a short new password", { old: PASSWORDS.alice, new: "short", repeat: "short" }, /needs 8 to 200 characters/],
  ["a huge new password", { old: PASSWORDS.alice, new: "x".repeat(201), repeat: "x".repeat(201) }, /needs 8 to 200/],
  ["two different new ones", { old: PASSWORDS.alice, new: "long enough", repeat: "long enoug" }, /passwords differ/],
  ["nothing at all", {}, /needs 8 to 200 characters/],
])("a password change with %s is refused, and this login stays as it was", async (_what, form, message) => {
  const before = await accountOf(alice);
  const page = await alice.post("/account/password", form);
  expect(page.status).toBe(422);
  expect(noticeOn(page)).toMatch(message);
  expect(await accountOf(alice)).toEqual(before);
});

test("refused password changes changed nothing", async () => {
  expect((await signIn(shop.browser(), "alice")).status).toBe(303);
});

test("of two password changes at once one holds, and only its device stays in", async () => {
  const devices = [await shop.signedIn("bob"), await shop.signedIn("bob")];
  const wanted = ["the first one", "the second one"];
  const pages = await Promise.all(
    devices.map((device, index) => {
      const chosen = wanted[index] ?? "";
      return device.post("/account/password", { old: PASSWORDS.bob, new: chosen, repeat: chosen });
    }),
  );
  expect(pages.filter(({ status }) => status === 303)).toHaveLength(1);
  const accounts = await Promise.all(devices.map(accountOf));
  expect(accounts.filter((account) => account !== undefined)).toHaveLength(1);
  const winner = pages.findIndex(({ status }) => status === 303);
  expect(accounts[winner]?.userId).toBe("200");
  const current = wanted[winner] ?? "";
  expect((await signIn(shop.browser(), "bob", wanted[1 - winner])).status).toBe(401);
  const back = { old: current, new: PASSWORDS.bob, repeat: PASSWORDS.bob };
  expect((await devices[winner]?.post("/account/password", back))?.status).toBe(303);
});

test("a wrong password and an unknown user get the same answer and no session", async () => {
  for (const [name, password] of Object.entries({ alice: "wrong", nobody: "wrong", "": "" })) {
    const device = shop.browser();
    const page = await signIn(device, name, password);
    expect(page.status).toBe(401);
    expect(isSignInPage(page)).toBe(true);
    expect(noticeOn(page)).toBe("The user name or the password is wrong.");
    expect(page.setCookies).toEqual([]);
  }
});

test("what is no form, too much, or a field sent twice is answered with a page, not with internals", async () => {
  const send = (body: string, type = "application/x-www-form-urlencoded") =>
    fetch(new URL("/sign-in", shop.base), {
      method: "POST",
      body,
      headers: { "content-type": type },
      redirect: "manual",
    });
  expect((await send("name=alice&name=bob&password=tea-party&password=x")).status).toBe(401);
  expect((await send('{"name":"alice"}', "application/json")).status).toBe(401);
  const large = await send(`name=${"x".repeat(9_000)}`);
  expect(large.status).toBe(413);
  const text = await large.text();
  expect(text).toContain("Not understood");
  expect(text).not.toMatch(/PayloadTooLarge|node_modules|at \w+ \(/);
  expect((await send("name=a", "application/x-www-form-urlencoded; charset=nonsense")).status).toBe(415);
});
