// An application one part of which requires the library and another imports it: a store of either copy, asked through both.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import session from "express-session";
import { Redis } from "ioredis";
import * as esm from "logout-everywhere";

const cjs = createRequire(import.meta.url)("logout-everywhere");
assert.notEqual(esm.GenerationStore, cjs.GenerationStore);
const SECRET = "secret";
const NOBODY = { mine: null, other: null, got: null, listed: null, read: null };
const client = new Redis(Number(process.env.REDIS_PORT), { db: 4095, keyPrefix: `node-${process.version}:` });

for (const [mine, other] of [
  [esm, cjs],
  [cjs, esm],
]) {
  const store = new mine.GenerationStore({ client });
  assert.ok(store instanceof session.Store);
  await signInAndOut(store, mine, other);
}
client.disconnect();
console.log("ok");

async function signInAndOut(store, mine, other) {
  const { base, close } = await serve();
  const signIn = await fetch(`${base}/sign-in`, { method: "POST" });
  assert.equal(signIn.status, 200);
  const cookie = signIn.headers.getSetCookie()[0].split(";")[0];
  const page = async (path = "/") => {
    const response = await fetch(base + path, { headers: { cookie } });
    return { status: response.status, body: await response.json() };
  };
  const signedIn = await page();
  assert.deepEqual(signedIn.body, { mine: "100", other: "100", got: "100", listed: "100", read: "100" });
  assert.equal((await page("/guarded")).status, 200);
  await store.logoutEverywhere("100");
  const signedOut = await page();
  assert.deepEqual(signedOut.body, { ...NOBODY, why: "logged_out" });
  assert.equal((await page("/guarded")).status, 401);
  await close();

  async function serve() {
    const middleware = session({ store, secret: SECRET, resave: false, saveUninitialized: false });
    const guard = other.requireLogin();
    const server = createServer((req, res) => {
      const answer = (body) => res.end(JSON.stringify(body));
      const failed = (error) => {
        res.statusCode = 500;
        answer({ error: String(error) });
      };
      middleware(req, res, (error) => {
        if (error) failed(error);
        else if (req.url === "/guarded") guard(req, res, () => answer({}));
        else if (req.method === "POST") signInOn(req).then(answer, failed);
        else describe(req).then(answer, failed);
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const stop = async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    };
    return { base: `http://127.0.0.1:${server.address().port}`, close: stop };
  }

  async function signInOn(req) {
    await store.login(req, await store.beginLogin("100"));
    return {};
  }

  async function describe(req) {
    const data = await store.get(req.sessionID);
    const stored = (await store.all()).find(({ id }) => id === req.sessionID);
    const options = { secret: SECRET };
    return {
      mine: mine.loginOf(req)?.userId ?? null,
      other: other.loginOf(req.session)?.userId ?? null,
      got: other.loginOf(data)?.userId ?? null,
      listed: other.loginOf(stored)?.userId ?? null,
      read: other.loginOf(await store.readRequest(req, options))?.userId ?? null,
      why: other.signedOutReason(req),
    };
  }
}
