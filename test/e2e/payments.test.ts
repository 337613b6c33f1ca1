import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BUILD_TIMEOUT_MS } from "../support/build.js";
import { type ExampleApp, freshRedisUrl, PASSWORDS, startExampleApp } from "../support/example-app.js";
import { useChromium } from "./support/chromium.js";

const device = useChromium();
let shop: ExampleApp;

beforeAll(async () => {
  shop = await startExampleApp({ REDIS_URL: (await freshRedisUrl()).url });
}, BUILD_TIMEOUT_MS);
afterAll(() => shop?.stop());

/** The payments page, for a user who has not paid yet, and what the browser complains about. */
async function openPayments(name: "alice" | "bob"): Promise<{ page: Page; problems: readonly string[] }> {
  const { page, problems } = await device();
  await page.goto(`${shop.base}/sign-in`);
  await page.fill("#name", name);
  await page.fill("#password", PASSWORDS[name]);
  await page.click("main button");
  await page.waitForURL("**/account");
  await page.click("nav >> text=Pay");
  return { page, problems };
}

async function pay(page: Page, amount: string): Promise<void> {
  await page.fill("#amount", amount);
  await page.fill("#note", "<b>for tea</b>");
  await page.click("main button");
}

const rows = (page: Page, section: string) => page.locator(`section[aria-labelledby=${section}] tbody tr`);
const outcome = (page: Page) => page.textContent("#outcome");

test("R-I8: the page pays once for each press, under a key of its own", async () => {
  const { page, problems } = await openPayments("alice");
  await pay(page, "1.15");
  await expect.poll(() => outcome(page)).toMatch(/^Thank you, you have paid\./);
  await expect.poll(() => rows(page, "paid").count()).toBe(1);
  expect(await rows(page, "paid").first().textContent()).toContain("1 × EUR 1.15");
  await pay(page, "1.15");
  await expect.poll(() => rows(page, "paid").count()).toBe(2);
  const keys = await rows(page, "tries").locator("code").allTextContents();
  expect([keys.length, new Set(keys).size]).toEqual([2, 2]);
  await page.click("#outcome a");
  await page.waitForURL("**/payments/*");
  expect(await page.textContent(".typed")).toBe("<b>for tea</b>");
  expect(problems).toEqual([]);
});

test("R-I5: the answer is lost after the shop has paid: the page asks again, and says that it went through", async () => {
  const { page } = await openPayments("bob");
  let lost = 0;
  await page.route("**/payments", async (route) => {
    if (route.request().method() !== "POST" || lost === 2) return await route.fallback();
    expect((await route.fetch()).status()).toBe(201);
    lost += 1;
    await route.abort("connectionreset");
  });
  await pay(page, "12.50");
  await expect.poll(() => outcome(page), { timeout: 10_000 }).toMatch(/^Already done: .* It was paid once\./);
  await expect.poll(() => rows(page, "paid").count()).toBe(1);
  expect(await rows(page, "tries").locator("td:last-child").allTextContents()).toEqual([
    "201, the first answer again",
    "201, the first answer again",
    "201, paid",
  ]);
});
