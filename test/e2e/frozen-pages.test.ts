import { expect, test } from "vitest";
import { useChromium } from "./support/chromium.js";
import { formApp } from "./support/form-app.js";

const device = useChromium({ freezesPages: true });

test("a page that comes back frozen has its buttons and a fresh token", async () => {
  const app = await formApp();
  const { page } = await device();
  // What comes back looks at itself and sends itself again: playwright cannot reach it.
  await page.addInitScript(() => {
    addEventListener("pageshow", ({ persisted }) => {
      if (!persisted) return;
      const [field, button] = [document.querySelector("form")?.["_submit_token"], document.querySelector("button")];
      const used = field.value;
      const state = document.querySelector<HTMLInputElement>("[name=what]");
      const timer = setInterval(() => {
        if (field.value === used || state === null || button === null) return;
        clearInterval(timer);
        state.value = button.disabled ? "greyed out" : "usable";
        button.click();
      }, 20);
    });
  });
  await page.goto(`${app.base}/page`);
  await page.click("button");
  await page.waitForURL("**/done");
  await page.evaluate(() => history.back());
  await expect.poll(() => app.passed.length, { timeout: 8_000 }).toBe(2);
  expect(app.passed.map(({ body }) => body["what"])).toEqual(["tea", "usable"]);
  expect(app.answers).toEqual(["POST 303", "POST 303"]);
});
