import express from "express";
import session from "express-session";
import RedisMock from "ioredis-mock";
import onHeaders from "on-headers";
import { expect, onTestFinished, test } from "vitest";
import { GenerationStore, type RedisClient, submitTokens } from "../../src/index.js";
import { sidOf } from "../support/app.js";
import { Browser } from "../support/browser.js";
import { serve } from "../support/serve.js";
import { DUPLICATE, submit, TOKEN_SECRET, tokenApp, tokenFor } from "../support/token-app.js";

test("R-T12: without a Redis server, on ioredis-mock, a token works once, for its session alone", async () => {
  const mock = new RedisMock({ host: "embedded-submit-tokens" });
  onTestFinished(() => mock.disconnect());
  const shop = await tokenApp({ store: { client: mock as unknown as RedisClient } });
  const [device, stranger] = [shop.browser(), shop.browser()];
  const token = await tokenFor(device);
  await tokenFor(stranger);
  expect((await submit(stranger, token)).text).toBe('{"error":"submit_token_invalid"}');
  const pages = await Promise.all([1, 2, 3, 4, 5].map(() => submit(device, token)));
  expect(pages.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409]);
  expect((await submit(device, token)).text).toBe(DUPLICATE);
  expect(shop.runs()).toBe(1);
});

test("R-T12: two app instances that share a Redis take each other's tokens, once", async () => {
  const one = await tokenApp();
  const other = await tokenApp({ store: { client: one.client } });
  const device = one.browser();
  const first = await tokenFor(device);
  const elsewhere = other.browser();
  for (const [name, value] of device.cookies) elsewhere.cookies.set(name, value);
  const second = await tokenFor(elsewhere);
  expect((await submit(elsewhere, first)).status).toBe(200);
  expect((await submit(device, first)).text).toBe(DUPLICATE);
  expect((await submit(device, second)).status).toBe(200);
  expect((await submit(elsewhere, second)).text).toBe(DUPLICATE);
  expect([one.runs(), other.runs()]).toEqual([1, 1]);
});

test("C48: a token's session stays short over later visits, and a longer token makes it as long as that", async () => {
  const { browser, client } = await tokenApp({
    store: { touchIntervalMs: 0 },
    session: { cookie: { maxAge: 86_400_000 } },
    before: (app, tokens) => {
      app.get("/long", async (req, res) => {
        res.send(await tokens.issue(req, { ttlMs: 3_600_000 }));
      });
    },
  });
  const device = browser();
  await tokenFor(device);
  const key = `session:${sidOf(device)}`;
  for (const visit of [() => device.get("/me"), () => tokenFor(device), () => device.get("/me")]) {
    await visit();
    expect(await client.pttl(key)).toBeGreaterThan(590_000);
    expect(await client.pttl(key)).toBeLessThanOrEqual(660_000);
  }
  const long = (await device.get("/long")).text;
  for (const visit of [() => device.get("/me"), () => tokenFor(device), () => device.get("/me")]) {
    await visit();
    // A later short token does not take the long one's session away.
    expect(await client.pttl(key)).toBeGreaterThan(3_590_000);
    expect(await client.pttl(key)).toBeLessThanOrEqual(3_960_000);
  }
  expect((await submit(device, long)).status).toBe(200);
});

/** As `compression` does: keeps what is written and writes it, changed, when the response ends. */
function upperCase(_req: express.Request, res: express.Response, next: express.NextFunction): void {
  const [write, end] = [res.write.bind(res), res.end.bind(res)] as [(text: unknown) => boolean, () => typeof res];
  const chunks: string[] = [];
  onHeaders(res, () => res.removeHeader("Content-Length"));
  res.write = ((chunk: unknown) => chunks.push(String(chunk)) > 0) as typeof res.write;
  res.end = ((chunk?: unknown) => {
    if (chunk !== undefined) chunks.push(String(chunk));
    write(chunks.join("").toUpperCase());
    return end();
  }) as typeof res.end;
  next();
}

for (const place of ["outside", "inside"] as const) {
  test(`R-T10: release before the end works with a middleware that changes the body ${place} the session: saved, cookie sent`, async () => {
    const { client } = await tokenApp();
    const tokens = submitTokens({ client, secret: TOKEN_SECRET });
    const app = express();
    if (place === "outside") app.use(upperCase);
    const store = new GenerationStore({ client });
    app.use(session({ store, secret: "test secret", resave: false, saveUninitialized: false, rolling: true }));
    if (place === "inside") app.use(upperCase);
    app.use(express.urlencoded({ extended: true }));
    app.get("/token", async (req, res) => {
      const token = await tokens.issue(req);
      res.set("X-Token", token).send("page");
    });
    let round = 0;
    app.post("/submit", tokens.protect({ release: "on-error" }), (req, res) => {
      round += 1;
      req.session["round"] = round;
      if (round === 1) {
        res.status(422).write("try ");
        res.end("again");
      } else res.send("done");
    });
    app.get("/round", (req, res) => void res.send(String(req.session["round"])));
    const device = new Browser(await serve(app));
    const page = await device.get("/token");
    expect([page.status, page.text, page.setCookies.length]).toEqual([200, "PAGE", 1]);
    const token = page.headers.get("x-token") ?? "";
    const failed = await submit(device, token);
    expect([failed.status, failed.text, failed.setCookies.length]).toEqual([422, "TRY AGAIN", 1]);
    // The answer came after the save, and after the release.
    expect((await device.get("/round")).text).toBe("1");
    const passed = await submit(device, token);
    expect([passed.status, passed.text, passed.setCookies.length]).toEqual([200, "DONE", 1]);
    expect((await device.get("/round")).text).toBe("2");
    expect((await submit(device, token)).status).toBe(409);
  });
}
