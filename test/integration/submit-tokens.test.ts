import express from "express";
import { expect, test } from "vitest";
import { submitTokens, type SubmitTokens, type SubmitTokensOptions } from "../../src/index.js";
import { testApp, type TestApp } from "../support/app.js";

const SECRET = "a secret of this test, long enough to be one: 0123456789";

async function tokenApp(options: Partial<SubmitTokensOptions> = {}): Promise<TestApp & { tokens: SubmitTokens }> {
  let tokens: SubmitTokens | undefined;
  const shop = await testApp({
    routes: (app) => {
      app.use(express.urlencoded({ extended: true }), express.json());
      app.get("/form", async (req, res) => {
        res.send(await tokens?.issue(req));
      });
      app.post("/submit", (req, res, next) => tokens?.protect()(req, res, next), (_req, res) => {
        res.json({ ok: true });
      });
    },
  });
  tokens = submitTokens({ client: shop.client, secret: SECRET, ...options });
  return { ...shop, tokens };
}

test("R-T4: of many submits of one token one passes", async () => {
  const shop = await tokenApp();
  const browser = shop.browser();
  const form = await browser.get("/form");
  expect(form.status).toBe(200);
  expect(form.headers.get("cache-control")).toBe("private, no-store");
  const pages = await Promise.all(
    Array.from({ length: 50 }, () => browser.post("/submit", { _submit_token: form.text })),
  );
  expect(pages.filter(({ status }) => status === 200)).toHaveLength(1);
  for (const page of pages.filter(({ status }) => status !== 200)) {
    expect(page.status).toBe(409);
    expect(page.text).toBe('{"error":"duplicate_submission"}');
  }
});
