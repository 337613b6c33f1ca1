import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { looksOf, useChromium } from "./support/chromium.js";
import { FORM, type FormApp, formApp } from "./support/form-app.js";

const device = useChromium();

interface Sent {
  readonly status?: number;
  readonly text?: string;
  readonly error?: string;
}

declare global {
  interface Window {
    /** Of the library's script. */
    submitTokens: {
      fetch(
        input: RequestInfo | URL,
        init?: RequestInit,
        options?: { action?: string; form?: HTMLFormElement },
      ): Promise<Response>;
    };
  }
}

function answers(app: FormApp): void {
  app.handler = (_req, res) => res.json({ ok: true });
}

/** Sends the page's form with `submitTokens.fetch`. */
function sendForm(page: Page): Promise<Sent> {
  return page.evaluate(async () => {
    const form = document.querySelector("form") as HTMLFormElement;
    const body = new URLSearchParams(Array.from(new FormData(form), ([name, value]) => [name, String(value)]));
    try {
      const response = await window.submitTokens.fetch("/orders", { method: "POST", body }, { form });
      return { status: response.status, text: await response.text() };
    } catch (error) {
      return { error: String((error as { code?: unknown }).code ?? (error as Error).name) };
    }
  });
}

async function message(page: Page): Promise<string | null> {
  const alert = page.locator("form [role=alert]");
  return (await alert.count()) === 0 ? null : await alert.textContent();
}

test("R-T3: submitTokens.fetch sends a token as header; the form's buttons are greyed out meanwhile", async () => {
  const app = await formApp();
  answers(app);
  const { page, problems } = await device();
  await page.goto(`${app.base}/page`);
  const looks = await looksOf(page);
  for (const round of [1, 2]) {
    expect(await sendForm(page)).toEqual({ status: 200, text: '{"ok":true}' });
    expect(app.passed[round - 1]?.header).toMatch(/^v1\./);
    expect(looks).toContain("busy grey");
    await expect.poll(() => looks.at(-1)).toBe("usable usable");
  }
  expect([app.answers, app.fetched(), problems]).toEqual([["POST 200", "POST 200"], 2, []]);
});

test("C46: parallel sends have a token each, also without a form and of a visitor without a session", async () => {
  const app = await formApp();
  answers(app);
  const { page } = await device();
  await page.goto(`${app.base}/page`);
  const statuses = await page.evaluate(() => {
    const send = async (): Promise<number> => {
      const init = { method: "POST", body: JSON.stringify({}), headers: { "Content-Type": "application/json" } };
      return (await window.submitTokens.fetch("/orders", init, { action: "order" })).status;
    };
    return Promise.all([send(), send(), send(), send(), send()]);
  });
  expect(statuses).toEqual([200, 200, 200, 200, 200]);
  expect(new Set(app.passed.map(({ header }) => header)).size).toBe(5);
});

test("C42: a second send of a form that is being sent is refused in the page", async () => {
  const app = await formApp();
  answers(app);
  const gate = app.hold();
  const { page } = await device();
  await page.goto(`${app.base}/page`);
  const first = sendForm(page);
  await gate.arrived;
  expect(await sendForm(page)).toEqual({ error: "submit_token_sending" });
  gate.open();
  expect((await first).status).toBe(200);
  expect(app.answers).toEqual(["POST 200"]);
});

test.each([
  ["en", /^This was sent before, and nothing was done twice\./, "See the result"],
  ["de-CH", /^Das wurde schon gesendet; nichts ist doppelt geschehen\./, "Zum Ergebnis"],
  ["ja", /^This was sent before/, "See the result"],
])(
  "R-T5, R-T6: a refused send is not repeated; the message is in the page's language: %s",
  async (lang, text, link) => {
    const app = await formApp({ html: `lang="${lang}"` });
    app.handler = async (req, res) => {
      await req.submitToken?.commit({ location: "/done" });
      res.json({ ok: true });
    };
    const { page } = await device();
    await page.goto(`${app.base}/page`);
    const used = await page.evaluate(async () => {
      const { token } = await (await fetch("/submit-token?action=order")).json();
      const field = document.createElement("input");
      Object.assign(field, { type: "hidden", name: "_submit_token", value: token });
      document.querySelector("form")?.append(field);
      await fetch("/orders", { method: "POST", headers: { "X-Submit-Token": token } });
      return token;
    });
    expect(await sendForm(page)).toEqual({ status: 409, text: '{"error":"duplicate_submission"}' });
    expect(await message(page)).toMatch(text);
    expect(await page.textContent("[role=alert] a")).toBe(link);
    expect(await page.getAttribute("[role=alert] a", "href")).toBe(`${app.base}/done`);
    expect(app.answers).toEqual(["POST 200", "POST 409"]);
    // There is a fresh token for the next try, which takes the message away.
    await expect.poll(() => page.inputValue("[name=_submit_token]")).toMatch(/^v1\./);
    expect(await page.inputValue("[name=_submit_token]")).not.toBe(used);
    expect((await sendForm(page)).status).toBe(200);
    expect(await message(page)).toBeNull();
  },
);

test("C48: the login changed meanwhile: refused, and the next try works", async () => {
  const app = await formApp();
  answers(app);
  const { page } = await device();
  await page.goto(`${app.base}/page`);
  await page.evaluate(async () => {
    const { token } = await (await fetch("/submit-token?action=order")).json();
    const field = document.createElement("input");
    Object.assign(field, { type: "hidden", name: "_submit_token", value: token });
    document.querySelector("form")?.append(field);
    await fetch("/login/7", { method: "POST" });
  });
  expect(await sendForm(page)).toEqual({ status: 403, text: '{"error":"submit_token_invalid"}' });
  expect(await message(page)).toMatch(/^The form no longer belongs to your session\./);
  expect((await sendForm(page)).status).toBe(200);
});

test("the page may tell people itself: submittoken:refused can be prevented", async () => {
  const app = await formApp();
  const { page } = await device();
  await page.goto(`${app.base}/page`);
  const detail = page.evaluate(() => {
    return new Promise((resolve) => {
      document.addEventListener("submittoken:refused", (event) => {
        event.preventDefault();
        resolve((event as CustomEvent).detail);
      });
    });
  });
  await page.evaluate(() => {
    const form = document.querySelector("form") as HTMLFormElement;
    const init = { method: "POST", headers: { "X-Submit-Token": "forged" } };
    return window.submitTokens.fetch("/orders", init, { form }).then(() => undefined);
  });
  expect(await detail).toEqual({ error: "submit_token_invalid", status: 403 });
  expect(await message(page)).toBeNull();
});

test("texts can be replaced, by the server and by the script's tag", async () => {
  const app = await formApp({
    html: 'lang="de-AT"',
    script: `data-texts='{"de-at":{"unavailable":"Geht grad ned."}}'`,
    serve: { texts: { de: { unavailable: "Leider nein.", invalid: "Bitte noch einmal." } } },
  });
  const { page } = await device();
  await page.goto(`${app.base}/page`);
  app.breakEndpoint(500);
  expect(await sendForm(page)).toEqual({ error: "submit_token_unavailable" });
  expect(await message(page)).toBe("Geht grad ned.");
  await page.evaluate(() => document.documentElement.setAttribute("lang", "de"));
  expect(await sendForm(page)).toEqual({ error: "submit_token_unavailable" });
  expect(await message(page)).toBe("Leider nein.");
  expect(app.answers).toEqual([]);
});

test.each(["before it arrives", "after it arrived"])("a connection that breaks %s keeps the token", async (when) => {
  const app = await formApp({ body: `<div lang="fr">${FORM}</div>` });
  answers(app);
  const { page } = await device();
  await page.goto(`${app.base}/page`);
  await page.route("**/orders", async (route) => {
    if (when === "after it arrived") await route.fetch();
    await route.abort();
  });
  expect(await sendForm(page)).toEqual({ error: "TypeError" });
  expect(await message(page)).toBe("La connexion a été interrompue. Veuillez renvoyer : cela ne compte qu’une fois.");
  expect(await page.isEnabled("button")).toBe(true);
  await page.unroute("**/orders");
  expect((await sendForm(page)).status).toBe(when === "after it arrived" ? 409 : 200);
  expect(app.passed).toHaveLength(1);
});

test("R-T9: where field and header must be equal, both are sent, also with files", async () => {
  const app = await formApp({ protect: { requireFieldAndHeader: true } });
  answers(app);
  const { page } = await device();
  await page.goto(`${app.base}/page`);
  expect((await sendForm(page)).status).toBe(200);
  const [{ body, header } = { body: {}, header: "" }] = app.passed;
  expect(body["_submit_token"]).toBe(header);
  await page.evaluate(() => {
    const body = new FormData();
    body.append("what", "a file");
    body.append("file", new File(["text"], "name.txt"));
    return window.submitTokens.fetch("/orders", { method: "POST", body }, { action: "order" }).then(() => undefined);
  });
  const [, withFile] = app.passed;
  expect(withFile).toEqual({ body: { what: "a file", _submit_token: withFile?.header }, header: expect.any(String) });
});

test("R-T2: no token leaves for another origin, not even after a redirect", async () => {
  const elsewhere = await formApp({ isOpen: true });
  // This page may reach any origin, and the other one lets it: what keeps the token here is the script alone.
  const app = await formApp({ isOpen: true });
  app.handler = (_req, res) => res.redirect(307, `${elsewhere.base}/plain`);
  const { page } = await device();
  await page.goto(`${app.base}/page`);
  const outcome = (url: string) =>
    page.evaluate(
      (target) =>
        window.submitTokens.fetch(target, { method: "POST" }, { action: "order" }).then(
          (response) => String(response.status),
          (error: unknown) => String(error),
        ),
      url,
    );
  expect(await outcome(`${elsewhere.base}/plain`)).toMatch(/^TypeError: submitTokens\.fetch: tokens are not sent/);
  expect(app.fetched()).toBe(0);
  expect(await outcome("/orders")).toMatch(/^TypeError/);
  expect(app.passed).toHaveLength(1);
  expect(elsewhere.plain).toEqual([]);
  // The other origin would have let it in.
  const plainFetch = (url: string) => fetch(url, { method: "POST", headers: { "X-Submit-Token": "t" } });
  await page.evaluate(`(${plainFetch})("${elsewhere.base}/plain").then(() => undefined)`);
  expect(elsewhere.plain).toContain("POST t");
});

test("data-wrap-fetch: plain fetch carries a token where it changes something here, and nowhere else", async () => {
  const elsewhere = await formApp({ isOpen: true });
  const app = await formApp({ isOpen: true, script: 'data-wrap-fetch="order"' });
  answers(app);
  const { page } = await device();
  await page.goto(`${app.base}/page`);
  const statuses = await page.evaluate(async (other) => {
    return [
      (await fetch(`${other}/plain`, { method: "POST" })).status,
      (await fetch("/plain")).status,
      (await fetch("/orders", { method: "post", body: "text" })).status,
      (await fetch(new Request("/orders", { method: "POST", body: "x" }))).status,
    ];
  }, elsewhere.base);
  expect(statuses).toEqual([200, 200, 200, 200]);
  expect([elsewhere.plain, app.plain]).toEqual([["POST without token"], ["GET without token"]]);
  expect(app.passed.map(({ body }) => body)).toEqual(["text", "x"]);
});
