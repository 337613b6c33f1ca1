import { type Request, type RequestHandler, urlencoded } from "express";
import session from "express-session";
import { expect, test } from "vitest";
import { idempotency } from "../../src/index.js";
import { Browser } from "../support/browser.js";
import { freshClient } from "../support/clients.js";
import { idempotencyApp, pay } from "../support/idempotency-app.js";
import { tokenApp, tokenFor } from "../support/token-app.js";

const NOT_KEPT = [401, 403, 407, 408, 413, 421, 423, 425, 426, 429, 500, 502, 503];
const KEPT = [200, 204, 302, 303, 400, 402, 404, 409, 410, 422, 451];

/** Fails at first with this status, then would succeed. */
function failingFirst(status: number, isCommitting = false): RequestHandler {
  let runs = 0;
  return async (req, res) => {
    runs += 1;
    if (isCommitting) await req.idempotency?.commit();
    res.status(runs === 1 ? status : 201).json({ run: runs });
  };
}

test.each(NOT_KEPT)("C64: a first answer of %i frees the key; after commit() it is kept", async (status) => {
  const shop = await idempotencyApp({ handler: failingFirst(status) });
  expect((await pay(shop, "key-1")).status).toBe(status);
  expect(await shop.client.keys("idempotency:*")).toEqual([]);
  expect((await pay(shop, "key-1")).json()).toEqual({ run: 2 });
  expect((await pay(shop, "key-1")).json()).toEqual({ run: 2, replayed: true });
  expect(shop.runs()).toBe(2);

  const committing = await idempotencyApp({ handler: failingFirst(status, true) });
  for (const repeat of [{}, { replayed: true }, { replayed: true }]) {
    const page = await pay(committing, "key-1");
    expect([page.status, page.json()]).toEqual([status, { run: 1, ...repeat }]);
  }
  expect(committing.runs()).toBe(1);
});

test.each(KEPT)("C64: a first answer of %i is kept", async (status) => {
  const shop = await idempotencyApp({ handler: failingFirst(status) });
  for (let round = 0; round < 3; round += 1) expect((await pay(shop, "key-1")).status).toBe(status);
  expect(shop.runs()).toBe(1);
});

test("C64: the keep option decides, but not after commit(); undefined and an exception leave it to the default", async () => {
  const seen: unknown[] = [];
  const kept = async (
    status: number,
    isCommitting: boolean,
    decision: boolean | undefined | Error,
  ): Promise<boolean> => {
    const shop = await idempotencyApp({
      handler: failingFirst(status, isCommitting),
      idempotency: {
        keep: (answer) => {
          seen.push(answer);
          if (decision instanceof Error) throw decision;
          return decision;
        },
      },
    });
    expect((await pay(shop, "key-1")).status).toBe(status);
    await pay(shop, "key-1");
    return shop.runs() === 1;
  };
  expect(await kept(500, false, true)).toBe(true);
  expect(await kept(400, false, false)).toBe(false);
  expect([await kept(400, false, undefined), await kept(503, false, undefined)]).toEqual([true, false]);
  expect([await kept(400, false, new Error("no")), await kept(503, false, new Error("no"))]).toEqual([true, false]);
  expect(seen).toContainEqual({ status: 500, isCommitted: false });
  seen.length = 0;
  expect(await kept(400, true, false)).toBe(true);
  expect(seen).toEqual([]);
});

test("C64: idempotency → submit token → handler: a refused token frees the key, a retry of what passed is replayed", async () => {
  const client = await freshClient();
  const guard = idempotency({ client });
  const shop = await tokenApp({ store: { client }, before: (app) => void app.use("/submit", guard) });
  const device = await shop.signedIn("mira");
  const submit = (token: string, key: string) =>
    device.post("/submit", { _submit_token: token }, { "idempotency-key": key });
  const records = async (): Promise<number> => (await client.keys("idempotency:*")).length;

  expect([(await submit("forged", "key-1")).status, await records()]).toEqual([403, 0]);
  const token = await tokenFor(device);
  expect((await submit(token, "key-1")).text).toBe('{"ok":true}');
  expect((await submit(token, "key-1")).text).toBe('{"ok":true,"replayed":true}');
  const spent = await submit(token, "key-2");
  expect([spent.status, spent.text, await records()]).toEqual([409, '{"error":"duplicate_submission"}', 1]);
  const fresh = await tokenFor(device);
  expect((await submit(fresh, "key-2")).text).toBe('{"ok":true}');
  expect(shop.runs()).toBe(2);
});

test("C64: a form without JavaScript uses its submit token as key: a double click leads both times to the same order", async () => {
  const client = await freshClient();
  const key = (req: Request): string | undefined => req.body?._submit_token;
  const guard = idempotency({ client, key, waitMs: 5_000 });
  let orders = 0;
  const shop = await tokenApp({
    store: { client },
    before: (app) => void app.use("/submit", guard),
    handler: async (_req, res) => {
      orders += 1;
      await new Promise((resolve) => setTimeout(resolve, 50));
      res.redirect(303, `/orders/${orders}`);
    },
  });
  const device = await shop.signedIn("mira");
  const token = await tokenFor(device);
  const pages = await Promise.all([1, 2, 3].map(() => device.post("/submit", { _submit_token: token, item: "1" })));
  for (const page of pages) expect([page.status, page.headers.get("location")]).toEqual([303, "/orders/1"]);
  expect(pages.filter(({ headers }) => headers.get("idempotency-replayed") === "true")).toHaveLength(2);
  expect((await device.post("/submit", { _submit_token: token, item: "2" })).status).toBe(422);
  expect((await device.post("/submit", {})).status).toBe(400);
  expect((await device.post("/submit", { _submit_token: "forged" })).status).toBe(403);
  expect([shop.runs(), orders]).toEqual([1, 1]);
});

test("C43, C64: such a form that was wrong is corrected with a fresh token; the old one stands for the first answer", async () => {
  const client = await freshClient();
  const guard = idempotency({ client, key: (req: Request) => req.body?._submit_token, waitMs: 5_000 });
  const shop = await tokenApp({
    store: { client },
    protect: { release: "on-error" },
    before: (app) => void app.use("/submit", guard),
    handler: (req, res) => void res.status(req.body.item === "1" ? 200 : 422).json({ item: req.body.item }),
  });
  const device = await shop.signedIn("mira");
  const send = async (token: string, item: string): Promise<string> => {
    const page = await device.post("/submit", { _submit_token: token, item });
    return `${page.status} ${page.text}`;
  };
  const token = await tokenFor(device);
  expect(await send(token, "one")).toBe('422 {"item":"one"}');
  expect(await send(token, "one")).toBe('422 {"item":"one","replayed":true}');
  expect(await send(token, "1")).toBe('422 {"error":"idempotency_key_reused"}');
  expect(await send(await tokenFor(device), "1")).toBe('200 {"item":"1"}');
  expect(shop.runs()).toBe(2);
});

test("C60: a user has the key on all devices and after a new login; nobody else replays, blocks or reads it", async () => {
  const shop = await idempotencyApp({ idempotency: { scope: undefined } });
  const send = async (device: Browser, key = "1"): Promise<string> => {
    const page = await device.post("/pay", { amount: "5" }, { "idempotency-key": key });
    return `${page.status} ${page.text}`;
  };
  const [phone, laptop, noor] = [await shop.signedIn("mira"), await shop.signedIn("mira"), await shop.signedIn("noor")];
  expect(await send(phone)).toBe('201 {"id":1,"amount":"5"}');
  expect(await send(laptop)).toBe('201 {"id":1,"amount":"5","replayed":true}');
  expect(await send(noor)).toBe('201 {"id":2,"amount":"5"}');
  expect((await noor.post("/pay", { amount: "6" }, { "idempotency-key": "1" })).status).toBe(422);
  expect(await send(phone)).toBe('201 {"id":1,"amount":"5","replayed":true}');

  await phone.post("/everywhere");
  expect(await send(phone)).toBe('400 {"error":"idempotency_scope_required"}');
  await phone.post("/login/mira");
  expect(await send(phone)).toBe('201 {"id":1,"amount":"5","replayed":true}');

  const names = await shop.client.keys("idempotency:*");
  expect(names).toHaveLength(2);
  for (const name of names) {
    expect(name).toMatch(/^idempotency:[\w-]{43}$/);
    expect(await shop.client.pttl(name)).toBeGreaterThan(0);
  }
  expect(shop.runs()).toBe(2);
});

test("C60: visitors: refused without a session, apart from each other with one; a cookie set just now is none", async () => {
  const shop = await idempotencyApp({ idempotency: { scope: undefined }, session: { saveUninitialized: true } });
  const send = async (device: Browser): Promise<string> => {
    const page = await device.post("/pay", {}, { "idempotency-key": "1" });
    return `${page.status} ${page.text}`;
  };
  const [one, other] = [shop.browser(), shop.browser()];
  for (let round = 0; round < 2; round += 1) {
    expect(await send(shop.browser())).toBe('400 {"error":"idempotency_scope_required"}');
  }
  expect(shop.runs()).toBe(0);
  for (const device of [one, other]) await device.post("/set/a/1");
  expect([await send(one), await send(other), await send(one)]).toEqual([
    '201 {"id":1}',
    '201 {"id":2}',
    '201 {"id":1,"replayed":true}',
  ]);
  expect(shop.runs()).toBe(2);
});

test("C60: another session store: its sessions are scopes of their own", async () => {
  const memory = await idempotencyApp({
    idempotency: { scope: undefined },
    session: { store: new session.MemoryStore() as never, saveUninitialized: true },
  });
  const [one, other] = [new Browser(memory.base), new Browser(memory.base)];
  for (const device of [one, other]) {
    expect((await device.post("/pay", {}, { "idempotency-key": "1" })).status).toBe(400);
    expect(device.cookies.size).toBe(1);
  }
  expect((await one.post("/pay", {}, { "idempotency-key": "1" })).text).toBe('{"id":1}');
  expect((await other.post("/pay", {}, { "idempotency-key": "1" })).text).toBe('{"id":2}');
  expect((await one.post("/pay", {}, { "idempotency-key": "1" })).text).toBe('{"id":1,"replayed":true}');
  expect(memory.runs()).toBe(2);
});

test("C60: joined parts of scope and key cannot collide, and a stated scope is no user's", async () => {
  const shop = await idempotencyApp({ idempotency: { scope: (req: Request) => req.get("x-tenant") } });
  const send = async (tenant: string, key: string): Promise<unknown> =>
    (await pay(shop, key, {}, { headers: { "x-tenant": tenant } })).json()["id"];
  expect(await send("a:b", "c")).toBe(1);
  expect(await send("a", "b:c")).toBe(2);
  expect(await send("a:", "b:c")).toBe(3);
  expect(await send("user", "c")).toBe(4);
  const mira = await shop.signedIn("mira");
  expect(await send("mira", "k")).toBe(5);
  expect((await mira.post("/pay", {}, { "idempotency-key": "k", "x-tenant": "" })).json()).toEqual({ id: 6 });
  expect((await pay(shop, "c", {})).text).toBe('{"error":"idempotency_scope_required"}');
  expect(shop.runs()).toBe(6);
});

test("a second guard on the way lets pass what the first has claimed", async () => {
  const client = await freshClient();
  const outer = idempotency({ client, scope: () => "tests" });
  const shop = await idempotencyApp({ idempotency: { client }, before: [urlencoded({ extended: true }), outer] });
  expect((await pay(shop, "key-1")).text).toBe('{"id":1,"amount":5}');
  expect((await pay(shop, "key-1")).text).toBe('{"id":1,"amount":5,"replayed":true}');
  expect(shop.runs()).toBe(1);
});
