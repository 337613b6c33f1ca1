import { expect, test } from "vitest";
import { sidOf } from "../support/app.js";
import type { Browser } from "../support/browser.js";
import { DUPLICATE, submit, tokenApp, tokenFor } from "../support/token-app.js";

/** GETs of a path, a few at a time; answers the texts of the last ones. */
async function getOften(device: Browser, path: string, count: number): Promise<string> {
  for (let opened = 0; opened < count; opened += 20) {
    await Promise.all(Array.from({ length: Math.min(20, count - opened) }, () => device.get(path)));
  }
  return (await device.get(path)).text;
}

const FORMS = 100;
const PAGES_OF_FORMS = process.env["THOROUGH"] === "1" ? 100 : 30;
const GETS = process.env["THOROUGH"] === "1" ? 10_000 : 200;

test.each([
  [`${PAGES_OF_FORMS} GETs of pages with ${FORMS} forms each`, PAGES_OF_FORMS, "/forms"],
  [`${GETS} GETs`, GETS, "/token"],
] as const)(
  "C44: %s with one cookie leave a bounded number of keys; the newest form works, a spent one is still known",
  async (_name, count, path) => {
    const { browser, client } = await tokenApp({
      tokens: { maxLiveTokens: 10 },
      before: (app, tokens) => {
        app.get("/forms", async (req, res) => {
          const issued = Array.from({ length: FORMS - 1 }, () => tokens.issue(req));
          await Promise.all(issued);
          res.send(await tokens.issue(req));
        });
      },
    });
    const device = browser();
    const spent = await tokenFor(device);
    expect((await submit(device, spent)).status).toBe(200);
    const newest = await getOften(device, path, count - 1);
    const keys = await client.keys("*");
    // Ten tokens, the tombstone, their index and the session.
    expect(keys.length).toBeLessThanOrEqual(10 + 1 + 2);
    for (const key of keys) expect(await client.pttl(key)).toBeGreaterThan(0);
    expect((await submit(device, newest)).status).toBe(200);
    expect((await submit(device, spent)).text).toBe(DUPLICATE);
  },
  300_000,
);

test("C48: a session made for a token lives as long as it, and gets its full life once it holds data", async () => {
  const { browser, client } = await tokenApp({ session: { cookie: { maxAge: 86_400_000 } } });
  const device = browser();
  const token = await tokenFor(device);
  const key = `session:${sidOf(device)}`;
  const ttlMs = await client.pttl(key);
  expect(ttlMs).toBeGreaterThan(590_000);
  expect(ttlMs).toBeLessThanOrEqual(660_000);
  await client.pexpire(key, 300_000);
  expect((await submit(device, token)).status).toBe(200);
  await device.post("/set/cart/full");
  expect(await client.pttl(key)).toBeGreaterThan(86_000_000);
});

test("C48: with saveUninitialized the same, and a Secure cookie over http is refused with a warning that names it", async () => {
  const eager = await tokenApp({ session: { saveUninitialized: true } });
  const device = eager.browser();
  expect((await submit(device, await tokenFor(device))).status).toBe(200);
  const warnings: string[] = [];
  const listen = (warning: Error): void => void warnings.push(warning.message);
  process.on("warning", listen);
  const secure = await tokenApp({ session: { cookie: { secure: true } } });
  const visitor = secure.browser();
  expect((await submit(visitor, await tokenFor(visitor))).text).toBe('{"error":"submit_token_invalid"}');
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", listen);
  expect(warnings.join()).toMatch(/session cookie is Secure: use https.*trust proxy/);
});
