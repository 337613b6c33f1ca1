import { expect, test } from "vitest";
import { looksOf, useChromium } from "./support/chromium.js";
import { FORM, formApp } from "./support/form-app.js";

/** For a click whose page does not come: Playwright is not to wait for it. */
const HELD = { noWaitAfter: true };

const device = useChromium();

test("R-T3: a form without a token gets one when it is sent, under a strict Content-Security-Policy", async () => {
  const app = await formApp();
  const { page, problems } = await device();
  await page.goto(`${app.base}/page`);
  await page.click("button");
  await page.waitForURL("**/done");
  expect(app.passed).toEqual([
    { body: { what: "tea", how: "fast", _submit_token: expect.stringMatching(/^v1\./) }, header: undefined },
  ]);
  expect([app.fetched(), app.answers, problems]).toEqual([1, ["POST 303"], []]);
});

test.each(["without a token", "with a token"])("C42: two clicks in one tick are one submission, %s", async (which) => {
  const app = await formApp();
  const { page } = await device();
  await page.goto(`${app.base}/page`);
  if (which === "with a token") await page.evaluate(putToken);
  const third = page.waitForEvent("console", (message) => message.text() === "clicked again");
  const gate = app.hold();
  await page.evaluate(() => {
    const button = document.querySelector("button");
    button?.click();
    button?.click();
    setTimeout(() => {
      button?.click();
      console.info("clicked again");
    }, 100);
  });
  await Promise.all([gate.arrived, third]);
  gate.open();
  await page.waitForURL("**/done");
  expect([app.passed.length, app.answers, app.fetched()]).toEqual([1, ["POST 303"], 1]);
});

async function putToken(): Promise<void> {
  const { token } = await (await fetch("/submit-token?action=order")).json();
  const field = document.createElement("input");
  Object.assign(field, { type: "hidden", name: "_submit_token", value: token });
  document.querySelector("form")?.append(field);
}

test("R-T3: while it is sent the buttons are greyed out, and the one that was clicked is sent", async () => {
  const body = `${FORM.replace("</form>", "<input type=submit value=Other></form>")}<button>No part of it</button>`;
  const app = await formApp({ body });
  const gate = app.hold();
  const { page } = await device();
  await page.goto(`${app.base}/page`);
  const looks = await looksOf(page);
  await page.click("text=Send", HELD);
  await gate.arrived;
  await expect.poll(() => looks.at(-1)).toBe("busy grey grey usable");
  gate.open();
  await page.waitForURL("**/done");
  expect(app.passed[0]?.body).toMatchObject({ how: "fast" });
});

test("a navigation that comes to nothing makes the button usable again, with the same token", async () => {
  const app = await formApp();
  const { page } = await device();
  const cdp = await page.context().newCDPSession(page);
  await page.goto(`${app.base}/page`);
  const looks = await looksOf(page);
  const gate = app.hold();
  await page.click("button", HELD);
  await gate.arrived;
  await expect.poll(() => looks.at(-1)).toBe("busy grey");
  // As the browser's own button does.
  await cdp.send("Page.stopLoading");
  await expect.poll(() => looks.at(-1)).toBe("usable usable");
  gate.open();
  // The server got it the first time, and says so.
  await page.click("button");
  await page.waitForURL("**/orders");
  expect(await page.textContent("h1")).toBe("Already submitted");
  expect([app.passed.length, app.fetched()]).toEqual([1, 1]);
});

test("an answer that is no page leaves the button greyed out for a quarter of a minute at most", async () => {
  const app = await formApp();
  app.handler = (_req, res) => res.status(204).end();
  const { page } = await device();
  await page.clock.install();
  await page.goto(`${app.base}/page`);
  const looks = await looksOf(page);
  await page.click("button", HELD);
  await expect.poll(() => app.answers).toEqual(["POST 204"]);
  await expect.poll(() => looks.at(-1)).toBe("busy grey");
  await page.clock.fastForward(15_000);
  await expect.poll(() => looks.at(-1)).toBe("usable usable");
});

test("a page that comes back from the cache, with a used token in it, gets a fresh one", async () => {
  const app = await formApp({ cacheControl: "max-age=600" });
  const { page } = await device();
  await page.goto(`${app.base}/page`);
  const used = await page.evaluate(async () => (await (await fetch("/submit-token?action=order")).json()).token);
  app.body = FORM.replace("</form>", `<input type="hidden" name="_submit_token" value="${used}"></form>`);
  await page.goto(`${app.base}/page?with-token`);
  await page.evaluate(() => Object.assign(window, { isSame: true }));
  await page.click("button");
  await page.waitForURL("**/done");
  await page.goBack();
  expect(await page.evaluate(() => "isSame" in window)).toBe(false);
  await page.click("button");
  await page.waitForURL("**/done");
  expect(app.passed.map(({ body }) => body["_submit_token"] === used)).toEqual([true, false]);
  expect(app.answers).toEqual(["POST 303", "POST 303"]);
});

test("without a token nothing is sent; a message says so, and the button is usable again", async () => {
  const app = await formApp({ html: 'lang="de-AT"' });
  const { page } = await device();
  await page.goto(`${app.base}/page`);
  await page.context().setOffline(true);
  await page.click("button");
  await page.waitForSelector("form [role=alert]");
  expect(await page.textContent("[role=alert]")).toMatch(/^Es konnte nichts gesendet werden\./);
  await page.context().setOffline(false);
  for (const status of [503, 404, 200]) {
    app.breakEndpoint(status);
    await page.click("button");
    await expect.poll(() => app.fetched()).toBeGreaterThan(0);
    await page.waitForSelector("form:not([aria-busy]) [role=alert]");
    expect([await page.isEnabled("button"), await page.locator("[role=alert]").count()]).toEqual([true, 1]);
  }
  app.breakEndpoint(undefined);
  await page.click("button");
  await page.waitForURL("**/done");
  expect(app.answers).toEqual(["POST 303"]);
});

test("R-T2: a token goes into no URL and to no other origin", async () => {
  const elsewhere = await formApp({ isOpen: true });
  const token = '<input type="hidden" name="_submit_token" value="v1.secret">';
  // This page may send forms anywhere: what keeps the token here is the script alone.
  const app = await formApp({
    isOpen: true,
    body: `<form id="get" action="/done" data-submit-token="order">${token}<button>Get</button></form>
<form method="post" action="/orders">${token}<button formmethod="get" formaction="/done" name="by" value="button">Get by button</button></form>
<form method="post" action="${elsewhere.base}/plain" data-submit-token="order">${token}<button>Elsewhere</button></form>`,
  });
  const { page } = await device();
  for (const label of ["Get", "Get by button"]) {
    await page.goto(`${app.base}/page`);
    await page.click(`text="${label}"`);
    await page.waitForURL("**/done?*");
    expect(page.url()).not.toContain("token");
  }
  await page.goto(`${app.base}/page`);
  const sent = page.waitForRequest(`${elsewhere.base}/plain`);
  await page.click("text=Elsewhere");
  expect((await sent).postData() ?? "").not.toContain("token");
  expect([app.fetched(), elsewhere.fetched()]).toEqual([0, 0]);
});

test("forms that the page sends itself, or not at all, are left alone", async () => {
  const app = await formApp();
  const { page } = await device();
  await page.goto(`${app.base}/page`);
  await page.evaluate(() => document.querySelector("form")?.addEventListener("submit", (e) => e.preventDefault()));
  await page.click("button");
  await page.click("button");
  expect(await page.isEnabled("button")).toBe(true);
  expect([app.fetched(), await page.locator("[name=_submit_token]").count()]).toEqual([0, 0]);
});

test("fields named as what a form has of its own are no trouble", async () => {
  const names = ["action", "method", "elements", "submit", "id", "target", "lang", "length"];
  const fields = names.map((name) => `<input name="${name}" value="x">`).join("");
  const app = await formApp({ body: FORM.replace("</form>", `${fields}</form>`) });
  const { page, problems } = await device();
  await page.goto(`${app.base}/page`);
  await page.click("button");
  await page.waitForURL("**/done");
  expect([app.passed[0]?.body, problems]).toEqual([expect.objectContaining({ action: "x", how: "fast" }), []]);
});
