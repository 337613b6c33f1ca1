import { Redis } from "ioredis";
import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { BUILD_TIMEOUT_MS } from "../support/build.js";
import { type DemoUser, type ExampleApp, freshRedisUrl, PASSWORDS, startExampleApp } from "../support/example-app.js";
import { looksOf, useChromium } from "./support/chromium.js";

const device = useChromium();
const SLOW_MS = 300;
let shop: ExampleApp;

beforeAll(async () => {
  shop = await startExampleApp({ REDIS_URL: (await freshRedisUrl()).url, ORDER_DELAY_MS: String(SLOW_MS) });
}, BUILD_TIMEOUT_MS);
afterAll(() => shop?.stop());

async function signIn(page: Page, name: DemoUser, password: string = PASSWORDS[name], at = shop): Promise<void> {
  await page.goto(`${at.base}/sign-in`);
  await page.fill("#name", name);
  await page.fill("#password", password);
  await press(page, "Sign in");
}

async function signedIn(name: DemoUser, options?: BrowserContextOptions): Promise<Page> {
  const { page } = await device(options);
  await signIn(page, name);
  await page.waitForURL("**/account");
  return page;
}

const cookies = new Map<DemoUser, Awaited<ReturnType<BrowserContext["storageState"]>>>();

/** On a device where the user has signed in before: passwords take their time. */
async function visitor(name: DemoUser, options: BrowserContextOptions = {}): Promise<Page> {
  const storageState = cookies.get(name);
  if (storageState !== undefined) return (await device({ ...options, storageState })).page;
  const page = await signedIn(name, options);
  cookies.set(name, await page.context().storageState());
  return page;
}

const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();
const heading = (page: Page) => page.textContent("h1");
const notice = (page: Page) => page.textContent(".notice");

async function openOrder(page: Page): Promise<void> {
  await page.goto(`${shop.base}/order`);
}

/** How many orders the user has. */
async function countOrders(page: Page): Promise<number> {
  const text = await (await page.request.get(`${shop.base}/orders`)).text();
  return text.match(/href="\/orders\/\d+"/g)?.length ?? 0;
}

describe("two devices of one person", () => {
  test("R-G3, R-G4: log out everywhere on one: the other is at the sign-in page with its next click, and may sign in again", async () => {
    const [one, other, bystander] = await Promise.all([signedIn("alice"), signedIn("alice"), visitor("bob")]);
    await press(one, "Log out everywhere");
    expect([await heading(one), await notice(one)]).toEqual([
      "Sign in",
      "You are logged out on all your devices, this one included.",
    ]);
    await other.click("nav >> text=Order");
    expect(await heading(other)).toBe("Sign in");
    expect(await notice(other)).toMatch(/^You were logged out on all your devices\./);
    // What the browser kept shows nothing either.
    await other.goBack();
    expect(await heading(other)).toBe("Sign in");
    await bystander.goto(`${shop.base}/account`);
    expect(await heading(bystander)).toBe("Your account");
    await signIn(other, "alice");
    await other.waitForURL("**/account");
    expect(await heading(other)).toBe("Your account");
    await one.goto(`${shop.base}/account`);
    expect(await heading(one)).toBe("Sign in");
  });

  test("R-G5: a password change spares this device and ends the other", async () => {
    const [one, other] = await Promise.all([signedIn("carol"), signedIn("carol")]);
    await one.fill("#old", PASSWORDS.carol);
    await one.fill("#new", "a new password");
    await one.fill("#repeat", "a new password");
    await press(one, "Change password");
    await expect.poll(() => notice(one)).toMatch(/^Your password is changed, and all your other devices/);
    await other.reload();
    expect(await notice(other)).toMatch(/^You were logged out on all your devices\./);
    await signIn(other, "carol");
    await expect.poll(() => notice(other)).toMatch(/^The user name or the password is wrong/);
    await signIn(other, "carol", "a new password");
    await other.waitForURL("**/account");
    await one.reload();
    expect(await heading(one)).toBe("Your account");
  });
});

describe("the order form", () => {
  test("C42: a double click is one order, and the buttons are grey meanwhile", async () => {
    const page = await visitor("alice");
    const before = await countOrders(page);
    await openOrder(page);
    const looks = await looksOf(page);
    await page.evaluate(() => {
      const button = document.querySelector<HTMLButtonElement>("main button");
      button?.click();
      button?.click();
    });
    await page.waitForURL("**/orders/*");
    expect(await heading(page)).toMatch(/^Order \d+$/);
    // The navigation's own form, for signing out, is not touched.
    expect(looks.at(-1)).toBe("usable usable busy grey");
    expect(await countOrders(page)).toBe(before + 1);
  });

  test("C42: without JavaScript the second click shows that the order went through, and leads to it", async () => {
    const page = await visitor("bob", { javaScriptEnabled: false });
    await openOrder(page);
    await page.selectOption("#item", "jam");
    const box = await page.locator("main button").boundingBox();
    const { x = 0, y = 0, width = 0, height = 0 } = box ?? {};
    await page.mouse.dblclick(x + width / 2, y + height / 2, { delay: 20 });
    await expect.poll(() => heading(page)).toBe("Your order went through");
    await page.click("text=See the order");
    expect(await page.textContent("dl")).toContain("1 × Orange marmalade");
    await page.click("text=Your orders");
    expect(await page.locator("tbody tr").count()).toBe(1);
  });

  test("C44: back button and send again is a second order, with a form fetched anew; a reload is none", async () => {
    const page = await visitor("alice");
    const before = await countOrders(page);
    await openOrder(page);
    await page.click("main button");
    await page.waitForURL("**/orders/*");
    const first = page.url();
    await page.reload();
    expect(await countOrders(page)).toBe(before + 1);
    await page.goBack();
    await page.fill("#quantity", "3");
    await page.click("main button");
    await page.waitForURL((url) => /\/orders\/\d+$/.test(url.href) && url.href !== first);
    expect(await page.textContent("dl")).toContain("3 × ");
    expect(await countOrders(page)).toBe(before + 2);
  });

  test("C43: what was wrong is corrected on the page that says so; a reload says it again; what is typed is text", async () => {
    const note = "<b>for</b>\n<script>document.title = 'run'</script>";
    const page = await visitor("alice");
    const before = await countOrders(page);
    await openOrder(page);
    await page.evaluate(() => document.querySelector("main form")?.setAttribute("novalidate", ""));
    await page.fill("#quantity", "99");
    await page.fill("#note", note);
    await press(page, "Place the order");
    await page.waitForSelector(".notice.bad");
    // The browser asks whether to send again; the answer is yes.
    await page.reload();
    expect(await notice(page)).toMatch(/^How many: a whole number from 1 to 20/);
    expect([await page.inputValue("#note"), await countOrders(page)]).toEqual([note, before]);
    await page.fill("#quantity", "2");
    await press(page, "Place the order");
    await page.waitForURL("**/orders/*");
    expect(await page.textContent(".typed")).toBe(note);
    expect([await page.title(), await page.locator("main script, main b").count()]).toEqual([
      expect.stringMatching(/^Order \d+ · /),
      0,
    ]);
    expect(await countOrders(page)).toBe(before + 1);
  });

  test("C44: a second tab does not spoil the first", async () => {
    const page = await visitor("bob");
    const before = await countOrders(page);
    await openOrder(page);
    const tab = await page.context().newPage();
    await openOrder(tab);
    for (const each of [page, tab]) {
      await each.click("main button");
      await each.waitForURL("**/orders/*");
    }
    expect(await countOrders(page)).toBe(before + 2);
  });

  test("R-T7: logged out everywhere while the form is open: nothing is ordered, and the way on is the sign-in page", async () => {
    const [one, other] = await Promise.all([visitor("alice"), signedIn("alice")]);
    const before = await countOrders(one);
    await openOrder(one);
    await press(other, "Log out everywhere");
    await other.waitForURL("**/sign-in?*");
    await one.click("main button");
    await expect.poll(() => heading(one)).toBe("Sign in");
    await signIn(one, "alice");
    await one.waitForURL("**/account");
    expect(await countOrders(one)).toBe(before);
  });
});

test("an open form whose token is gone from Redis says so, and works with the next click", async () => {
  const { url, port, db } = await freshRedisUrl();
  const own = await startExampleApp({ REDIS_URL: url });
  const redis = new Redis({ port, db });
  onTestFinished(async () => {
    redis.disconnect();
    await own.stop();
  });
  const { page, problems } = await device();
  await signIn(page, "alice", PASSWORDS.alice, own);
  await page.waitForURL("**/account");
  await page.goto(`${own.base}/order`);
  await page.selectOption("#item", "cups");
  await redis.del(...(await redis.keys("submit:token:*")));
  await page.click("main button");
  await expect.poll(() => notice(page)).toMatch(/^The form is no longer known\./);
  expect(await page.inputValue("#item")).toBe("cups");
  await page.click("main button");
  await page.waitForURL("**/orders/*");
  expect(await page.textContent("dl")).toContain("1 × Two cups");
  // The shop's policy let all through that the page needs.
  expect(problems.filter((problem) => /policy/i.test(problem))).toEqual([]);
});
