import { expect, test } from "vitest";
import { clientOnOwnServer, commandCalls, resetCommandCalls } from "../support/command-stats.js";
import { DUPLICATE, submit, type TokenApp, tokenApp, tokenFor } from "../support/token-app.js";

const JSON_TYPE = { "content-type": "application/json" };

/** POST /submit with this JSON body. */
async function postJson(shop: TokenApp, cookie: string, body: unknown): Promise<string> {
  const response = await fetch(`${shop.base}/submit`, {
    method: "POST",
    headers: { ...JSON_TYPE, cookie },
    body: JSON.stringify(body),
  });
  return `${response.status} ${await response.text()}`;
}

test("R-T5, R-T7: what is no good token is refused without asking Redis, and the good one still passes", async () => {
  const client = await clientOnOwnServer();
  const shop = await tokenApp({ store: { client: client as never } });
  const [device, stranger] = [shop.browser(), shop.browser()];
  const token = await tokenFor(device);
  const foreign = await tokenFor(stranger);
  const cookie = `connect.sid=${device.cookies.get("connect.sid")}`;
  const flipped = `${token.slice(0, -3)}${token.at(-3) === "A" ? "B" : "A"}${token.slice(-2)}`;
  const invalid = '403 {"error":"submit_token_invalid"}';
  const missing = '403 {"error":"submit_token_missing"}';
  // Fills the script cache and learns Redis' clock.
  await submit(device, await tokenFor(device));
  await resetCommandCalls(client);
  for (const [body, expected] of [
    [{}, missing],
    [{ _submit_token: "" }, missing],
    [{ _submit_token: null }, missing],
    [{ _submit_token: flipped }, invalid],
    [{ _submit_token: `${token}A` }, invalid],
    [{ _submit_token: ` ${token}` }, invalid],
    [{ _submit_token: foreign }, invalid],
    [{ _submit_token: [token] }, invalid],
    [{ _submit_token: [token, token] }, invalid],
    [{ _submit_token: { toString: token } }, invalid],
    [{ _submit_token: 7 }, invalid],
    [{ _submit_token: "v1.".padEnd(1_000_000, "a") }, invalid],
  ] as const) {
    expect(await postJson(shop, cookie, body)).toBe(expected);
  }
  const calls = await commandCalls(client);
  expect(calls.get("evalsha")).toBeUndefined();
  expect(calls.get("eval")).toBeUndefined();
  expect((await submit(device, token, { "X-Submit-Token": foreign })).status).toBe(403);
  expect((await device.post("/submit", { "_submit_token[]": token })).status).toBe(403);
  expect(await postJson(shop, cookie, { _submit_token: token })).toBe('200 {"ok":true}');
  expect((await commandCalls(client)).get("evalsha")).toBe(1);
  expect(await postJson(shop, cookie, { _submit_token: token })).toBe(`409 ${DUPLICATE}`);
  expect((await commandCalls(client)).get("evalsha")).toBe(2);
  expect((await submit(stranger, foreign)).status).toBe(200);
});

test("C47: no cache header of a handler or of a middleware before it survives", async () => {
  const { default: onHeaders } = await import("on-headers");
  const { browser } = await tokenApp({
    before: (app, tokens) => {
      app.use((_req, res, next) => {
        onHeaders(res, () => void res.setHeader("Cache-Control", "public, max-age=600"));
        next();
      });
      app.get("/page", async (req, res) => {
        res.set("Cache-Control", "public, max-age=600");
        const token = await tokens.issue(req);
        res.set({ "Cache-Control": "public, max-age=600", ETag: '"own"', "X-Accel-Expires": "600" });
        res.send(token);
      });
      app.get("/raw", async (req, res) => {
        const token = await tokens.issue(req);
        res.writeHead(200, { "Cache-Control": "public", "Last-Modified": new Date(0).toUTCString() });
        res.end(token);
      });
    },
  });
  const device = browser();
  for (const path of ["/page", "/raw"]) {
    const page = await device.get(path, { "if-none-match": '"own"', "if-modified-since": new Date().toUTCString() });
    expect([page.status, page.headers.get("cache-control")]).toEqual([200, "private, no-store"]);
    expect(["etag", "last-modified", "x-accel-expires"].filter((name) => page.headers.has(name))).toEqual([]);
    expect(page.headers.get("vary")).toContain("Cookie");
    expect((await submit(device, page.text)).status).toBe(200);
  }
});
