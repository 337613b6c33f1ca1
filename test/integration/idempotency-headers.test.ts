import { expect, test } from "vitest";
import { userOf } from "../support/app.js";
import { idempotencyApp, pay } from "../support/idempotency-app.js";
import { linesOf, rawRequest } from "../support/raw-request.js";

const REPLAYED = {
  "Content-Type": "text/plain; charset=utf-8",
  "Content-Language": "de",
  "Content-Disposition": 'attachment; filename="a.txt"',
  "Content-Location": "/orders/1.txt",
  Location: "/orders/1",
  ETag: '"v1"',
  "Last-Modified": "Tue, 01 Dec 2026 00:00:00 GMT",
};

const NOT_REPLAYED = {
  "Set-Cookie": ["a=1", "b=2"],
  "WWW-Authenticate": 'Bearer realm="x"',
  "Proxy-Authenticate": "Basic",
  "Authentication-Info": "x",
  Authorization: "x",
  "Access-Control-Allow-Origin": "https://a.example",
  "Access-Control-Allow-Credentials": "true",
  "RateLimit-Remaining": "3",
  RateLimit: "limit=3",
  "X-RateLimit-Reset": "9",
  "Retry-After": "7",
  Expires: "Tue, 01 Dec 2026 00:00:00 GMT",
  Age: "5",
  "X-Request-Id": "r-1",
  "X-Correlation-Id": "c-1",
  traceparent: "00-1",
  "Server-Timing": "db;dur=5",
  "Content-Security-Policy": "script-src 'nonce-1'",
  "X-Submit-Token": "t",
  "X-CSRF-Token": "t",
  "Content-Digest": "sha-256=:x:",
  Digest: "x",
  "Content-MD5": "x",
  Signature: "x",
  "X-Anything": "1",
};

test("C56: the answer's own headers are replayed, two Links stay two; cookies, challenges, CORS, limits and traces never are", async () => {
  const shop = await idempotencyApp({
    handler: (_req, res) => {
      res.set({ ...REPLAYED, ...NOT_REPLAYED, "X-Kept": "k" });
      res.setHeader("Link", ["</a>; rel=next", "</b>; rel=prev, </c>"]);
      res.setHeader("Date", "Mon, 01 Jan 2001 00:00:00 GMT");
      res.status(201).send("ok");
    },
    idempotency: { replayHeaders: ["X-Kept", "X-Not-There"] },
  });
  const send = () =>
    rawRequest(`${shop.base}/pay`, {
      method: "POST",
      headers: { "idempotency-key": "key-1", "content-type": "application/json", origin: "https://b.example" },
      body: "{}",
    });
  const first = await send();
  for (const [name, value] of Object.entries({ ...REPLAYED, ...NOT_REPLAYED }))
    expect(linesOf(first, name)).toEqual([value].flat());
  const again = await send();
  expect([again.status, again.body.toString(), shop.runs()]).toEqual([201, "ok", 1]);
  for (const [name, value] of Object.entries(REPLAYED)) expect([name, linesOf(again, name)]).toEqual([name, [value]]);
  for (const name of Object.keys(NOT_REPLAYED)) expect([name, linesOf(again, name)]).toEqual([name, []]);
  expect(linesOf(again, "link")).toEqual(["</a>; rel=next", "</b>; rel=prev, </c>"]);
  expect(linesOf(again, "x-kept")).toEqual(["k"]);
  expect(linesOf(again, "x-not-there")).toEqual([]);
  expect(linesOf(again, "cache-control")).toEqual(["private, no-store"]);
  expect(Math.abs(Date.parse(linesOf(again, "date")[0] ?? "") - Date.now())).toBeLessThan(60_000);
});

test("C56: headers given to writeHead() are seen as well", async () => {
  const shop = await idempotencyApp({
    handler: (_req, res) => void res.writeHead(201, { Location: "/orders/1", "Set-Cookie": "a=1" }).end("{}"),
  });
  await pay(shop, "key-1");
  const again = await pay(shop, "key-1");
  expect([again.status, again.headers.get("location"), again.setCookies, shop.runs()]).toEqual([
    201,
    "/orders/1",
    [],
    1,
  ]);
});

test("C56: a replay of a sign-in signs nobody in, and this request's own session cookie is unharmed", async () => {
  const shop = await idempotencyApp({
    session: { rolling: true },
    routes: (_app, store) => {
      signIn = async (req) => store.login(req, await store.beginLogin("mira"));
    },
    handler: async (req, res) => {
      await signIn(req);
      res.cookie("hint", "mira").json({ user: "mira" });
    },
  });
  const first = shop.browser();
  const headers = { "idempotency-key": "sign-in" };
  const page = await first.post("/pay", {}, headers);
  expect([page.status, await userOf(first), page.setCookies.length]).toEqual([200, "mira", 2]);
  await first.post("/logout");

  const stranger = shop.browser();
  const replayed = await stranger.post("/pay", {}, headers);
  expect([replayed.text, replayed.setCookies, await userOf(stranger)]).toEqual([
    '{"user":"mira","replayed":true}',
    [],
    null,
  ]);

  const noor = await shop.signedIn("noor");
  const own = noor.cookies.get("connect.sid");
  const rolling = await noor.post("/pay", {}, headers);
  expect(rolling.setCookies).toHaveLength(1);
  expect([noor.cookies.get("connect.sid"), await userOf(noor), shop.runs()]).toEqual([own, "noor", 1]);
});

let signIn: (req: import("express").Request) => Promise<unknown> = async () => undefined;
