import { request } from "node:http";
import type { Request, RequestHandler, Response } from "express";
import { expect, test } from "vitest";
import type { ProtectOptions, SubmitTokenRefusal } from "../../src/index.js";
import type { Browser, Page } from "../support/browser.js";
import { DUPLICATE, submit, tokenApp, tokenFor } from "../support/token-app.js";

const INVALID = '403 {"error":"submit_token_invalid"}';
const MISSING = '403 {"error":"submit_token_missing"}';

function brief({ status, text }: Page): string {
  return `${status} ${text}`;
}

/** An app whose POST /twice has a guard of the application and one of the route. */
async function guardedTwice(protect: ProtectOptions, handler: RequestHandler) {
  const shop = await tokenApp({
    issue: { action: "order" },
    before: (app, tokens) => {
      app.use("/twice", tokens.protect({ action: "order", ...protect }));
      app.post("/twice", tokens.protect({ action: "order", ...protect }), handler);
    },
  });
  const send = (device: Browser, token: string) => device.post("/twice", { _submit_token: token });
  return { device: shop.browser(), send };
}

test("R-T4: two guards on one route spend a token once, and let one of several requests pass", async () => {
  let runs = 0;
  const { device, send } = await guardedTwice({}, (_req, res) => {
    runs += 1;
    res.json({ ok: true });
  });
  const token = await tokenFor(device);
  const pages = await Promise.all([1, 2, 3, 4, 5].map(() => send(device, token)));
  expect(pages.map(brief).sort()).toEqual(['200 {"ok":true}', ...Array(4).fill(`409 ${DUPLICATE}`)]);
  expect([brief(await send(device, token)), runs]).toEqual([`409 ${DUPLICATE}`, 1]);
});

test("R-T10: two guards that release on errors give the token back, and only until it has worked", async () => {
  const statuses = [422, 200];
  const { device, send } = await guardedTwice({ release: "on-error" }, (_req, res) => {
    res.status(statuses.shift() ?? 500).json({});
  });
  const token = await tokenFor(device);
  expect((await send(device, token)).status).toBe(422);
  expect((await send(device, token)).status).toBe(200);
  expect(brief(await send(device, token))).toBe(`409 ${DUPLICATE}`);
});

test("R-T7: two guards with different actions let no token pass", async () => {
  const { browser, runs } = await tokenApp({
    issue: { action: "order" },
    protect: { action: "pay" },
    before: (app, tokens) => void app.post("/submit", tokens.protect({ action: "order" })),
  });
  const device = browser();
  expect(brief(await submit(device, await tokenFor(device)))).toBe(INVALID);
  expect(runs()).toBe(0);
});

test("R-T7: a token passes only where its action is asked for, and is not spent elsewhere", async () => {
  const { browser, runs } = await tokenApp({
    before: (app, tokens) => {
      app.get("/token/:action", async (req, res) => {
        res.send(await tokens.issue(req, { action: req.params.action }));
      });
      app.post("/order", tokens.protect({ action: "order" }), (_req, res) => void res.json({}));
    },
  });
  const device = browser();
  const order = (token: string) => device.post("/order", { _submit_token: token });
  const plain = await tokenFor(device);
  const [ordering, paying] = [(await device.get("/token/order")).text, (await device.get("/token/pay")).text];
  for (const page of [await order(paying), await order(plain), await submit(device, ordering)]) {
    expect(brief(page)).toBe(INVALID);
  }
  expect(runs()).toBe(0);
  expect((await order(ordering)).status).toBe(200);
  expect((await submit(device, plain)).status).toBe(200);
});

test("R-T2: two header lines are no token, also if they are equal; nothing is spent", async () => {
  const { base, browser, runs } = await tokenApp();
  const device = browser();
  const token = await tokenFor(device);
  for (const other of [token, await tokenFor(device)]) {
    const cookie = `connect.sid=${device.cookies.get("connect.sid")}`;
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { cookie, "X-Submit-Token": [token, other] };
      const sent = request(`${base}/submit`, { method: "POST", headers }, (res) => {
        res.resume();
        resolve(res.statusCode);
      });
      sent.once("error", reject);
      sent.end();
    });
    expect(status).toBe(403);
  }
  const joined = await device.post("/submit", {}, { "X-Submit-Token": `${token}, ${token}` });
  expect([brief(joined), runs()]).toEqual([INVALID, 0]);
  expect((await device.post("/submit", {}, { "X-Submit-Token": token })).status).toBe(200);
});

test("R-T6: onRefused gets what there is to tell, with status and no-store set, for every reason", async () => {
  const seen: SubmitTokenRefusal[] = [];
  const { browser, client, runs } = await tokenApp({
    protect: {
      duplicateStatus: 422,
      onRefused: (refusal: SubmitTokenRefusal, _req: Request, res: Response) => {
        seen.push(refusal);
        expect(res.statusCode).toBe(refusal.status);
        res.send(`own answer: ${refusal.reason}`);
      },
    },
    handler: async (req, res) => {
      await req.submitToken?.commit({ location: "/orders/7" });
      res.json({});
    },
  });
  const device = browser();
  const token = await tokenFor(device);
  const gone = await tokenFor(device);
  await client.del(`submit:token:${gone}`);
  await submit(device, token);
  const pages = [
    await submit(device, token),
    await device.post("/submit"),
    await submit(device, "no token"),
    await submit(device, gone),
    await submit(device, token, { "sec-fetch-site": "cross-site" }),
  ];
  expect(pages.map(brief)).toEqual([
    "422 own answer: duplicate",
    "403 own answer: missing",
    "403 own answer: invalid",
    "403 own answer: unknown",
    "403 own answer: cross_site",
  ]);
  for (const page of pages) expect(page.headers.get("cache-control")).toBe("private, no-store");
  const refused = { isCommitted: false, location: undefined };
  expect(seen).toEqual([
    { reason: "duplicate", status: 422, error: "duplicate_submission", isCommitted: true, location: "/orders/7" },
    { reason: "missing", status: 403, error: "submit_token_missing", ...refused },
    { reason: "invalid", status: 403, error: "submit_token_invalid", ...refused },
    { reason: "unknown", status: 403, error: "submit_token_unknown", ...refused },
    { reason: "cross_site", status: 403, error: "cross_site", ...refused },
  ]);
  expect(runs()).toBe(1);
});

test("R-T6: what onRefused throws, at once or later, or passes on, reaches the error handler; the handler never runs", async () => {
  const failure = (code: string) => Object.assign(new Error("no"), { status: 418, code });
  for (const [code, onRefused] of [
    [
      "THROWN",
      () => {
        throw failure("THROWN");
      },
    ],
    [
      "REJECTED",
      async () => {
        await Promise.resolve();
        throw failure("REJECTED");
      },
    ],
    [
      "PASSED",
      (_refusal: unknown, _req: unknown, _res: unknown, next: (error: unknown) => void) => next(failure("PASSED")),
    ],
  ] as const) {
    const { browser, errors, runs } = await tokenApp({ protect: { onRefused } });
    const page = await submit(browser(), "no token");
    expect([page.status, page.json(), errors.length, runs()]).toEqual([418, { code }, 1, 0]);
  }
});

test("R-T7: a hand-made method override makes no request safe that came as a POST", async () => {
  for (const isRecorded of [true, false]) {
    const { browser } = await tokenApp({
      before: (app, tokens) => {
        app.use((req, _res, next) => {
          const method: unknown = req.body?.method ?? req.query["method"];
          if (typeof method === "string") {
            if (isRecorded) Object.assign(req, { originalMethod: req.method });
            req.method = method;
          }
          next();
        });
        app.all("/all", tokens.protect(), (_req, res) => void res.json({}));
      },
    });
    const device = browser();
    expect(brief(await device.post("/all", { method: "GET" }))).toBe(MISSING);
    expect(brief(await device.post("/all", { method: "OPTIONS" }))).toBe(MISSING);
    // A GET that becomes a POST is guarded as one.
    expect(brief(await device.get("/all?method=POST"))).toBe(MISSING);
    expect((await device.get("/all")).status).toBe(200);
    const token = await tokenFor(device);
    expect((await device.post("/all", { method: "GET", _submit_token: token })).status).toBe(200);
    expect((await device.post("/all", { _submit_token: token })).status).toBe(409);
  }
});
