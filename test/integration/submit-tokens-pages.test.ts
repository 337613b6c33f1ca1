import { expect, test } from "vitest";
import type { Page } from "../support/browser.js";
import { DUPLICATE, submit, tokenApp, tokenFor } from "../support/token-app.js";

const UNKNOWN_ACTION = '{"error":"unknown_action"}';

function cacheControlOf({ headers }: Page): string | null {
  return headers.get("cache-control");
}

test("C46: the endpoint gives tokens for the actions it lists, and for no other, whatever the address says", async () => {
  const { browser, client } = await tokenApp({
    before: (app, tokens) => {
      app.use("/fetch", tokens.endpoint({ action: ["order", "pay"] }));
      for (const action of ["order", "pay"]) {
        app.post(`/${action}`, tokens.protect({ action }), (_req, res) => void res.json({ action }));
      }
    },
  });
  const device = browser();
  for (const query of [
    "",
    "?",
    "?action",
    "?action=",
    "?action=other",
    "?action=Order",
    "?action=order%00",
    "?action=%E0%A4%A",
    "?action=__proto__",
    "?action=length",
    "?action=0",
    "?action[]=order",
    "?action=other&action=order",
    "??action=order",
    `?action=${"a".repeat(5_000)}`,
  ]) {
    const page = await device.get(`/fetch${query}`);
    expect([query, page.status, page.text]).toEqual([query, 400, UNKNOWN_ACTION]);
    expect([cacheControlOf(page), page.setCookies]).toEqual(["private, no-store", []]);
  }
  expect(await client.keys("*")).toEqual([]);
  const page = await device.get("/fetch?x=1&action=order", { "if-none-match": "*" });
  const answer = page.json<{ token: string; fieldName: string; headerName: string }>();
  expect([page.status, cacheControlOf(page)]).toEqual([200, "private, no-store"]);
  expect(answer).toEqual({ token: answer.token, fieldName: "_submit_token", headerName: "X-Submit-Token" });
  expect((await device.post("/pay", { _submit_token: answer.token })).text).toBe('{"error":"submit_token_invalid"}');
  expect((await device.post("/order", { _submit_token: answer.token })).status).toBe(200);
});

test("C46: the endpoint answers GET alone, to no other site, and makes nothing otherwise", async () => {
  const { browser, client } = await tokenApp({ before: (app, tokens) => void app.use("/fetch", tokens.endpoint()) });
  const device = browser();
  for (const method of ["HEAD", "POST", "PUT", "DELETE", "OPTIONS"]) {
    const page = await device.send(method, "/fetch");
    expect([method, page.status, page.headers.get("allow")]).toEqual([method, 405, "GET"]);
    expect(page.text).toBe(method === "HEAD" ? "" : '{"error":"method_not_allowed"}');
    expect(cacheControlOf(page)).toBe("private, no-store");
  }
  for (const site of ["cross-site", "same-site"]) {
    const page = await device.get("/fetch", { "sec-fetch-site": site });
    expect([page.status, page.text, cacheControlOf(page)]).toEqual([
      403,
      '{"error":"cross_site"}',
      "private, no-store",
    ]);
  }
  for (const origin of ["https://evil.example", "null"]) {
    expect((await device.get("/fetch", { origin })).status).toBe(403);
  }
  expect([await client.keys("*"), device.cookies.size]).toEqual([[], 0]);
  expect((await device.get("/fetch", { "sec-fetch-site": "same-origin" })).status).toBe(200);
});

test("C46: each answer to a POST brings the next token in a header", async () => {
  const { browser, runs } = await tokenApp({
    before: (app, tokens) => {
      app.use("/submit", async (req, res, next) => {
        res.set("X-Next-Token", await tokens.issue(req));
        next();
      });
    },
  });
  const device = browser();
  let token = await tokenFor(device);
  for (let round = 0; round < 5; round += 1) {
    const page = await device.post("/submit", {}, { "X-Submit-Token": token });
    expect([page.status, cacheControlOf(page)]).toEqual([200, "private, no-store"]);
    const again = await device.post("/submit", {}, { "X-Submit-Token": token });
    expect(again.text).toBe(DUPLICATE);
    // Also the answer to a refused one: the page can go on.
    token = (round % 2 === 0 ? page : again).headers.get("x-next-token") ?? "";
  }
  expect(runs()).toBe(5);
});

test("C43: a form that comes back with 422 carries a fresh token: corrected and sent again it passes, once", async () => {
  const accepted: unknown[] = [];
  const { browser } = await tokenApp({
    before: (app, tokens) => {
      app.post("/order", tokens.protect(), async (req, res) => {
        const amount: unknown = req.body?.amount;
        if (amount === "3") {
          accepted.push(amount);
          res.redirect(303, "/orders/7");
          return;
        }
        res.status(422).send(`<form method="post">${tokens.field(await tokens.issue(req))}</form>`);
      });
    },
  });
  const device = browser();
  const token = await tokenFor(device);
  const order = (sent: string, amount: string) => device.post("/order", { _submit_token: sent, amount });
  const rejected = await order(token, "three");
  const fresh = /name="_submit_token" value="([^"]+)"/.exec(rejected.text)?.[1] ?? "";
  expect([rejected.status, cacheControlOf(rejected)]).toEqual([422, "private, no-store"]);
  expect(fresh).not.toBe(token);
  expect((await order(token, "3")).text).toBe(DUPLICATE);
  expect((await order(fresh, "3")).status).toBe(303);
  expect((await order(fresh, "3")).text).toBe(DUPLICATE);
  expect(accepted).toEqual(["3"]);
});

test("R-T6: an aborted request leaves the token spent, and the loser is told so", async () => {
  const { base, browser, runs } = await tokenApp({ handler: () => undefined });
  const device = browser();
  const token = await tokenFor(device);
  const abort = new AbortController();
  const headers = { cookie: `connect.sid=${device.cookies.get("connect.sid")}`, "X-Submit-Token": token };
  const sent = fetch(`${base}/submit`, { method: "POST", headers, signal: abort.signal }).catch(() => "aborted");
  await expect.poll(runs).toBe(1);
  abort.abort();
  expect(await sent).toBe("aborted");
  expect((await submit(device, token)).text).toBe(DUPLICATE);
  expect(runs()).toBe(1);
});
