import type { Request, RequestHandler } from "express";
import { expect, test } from "vitest";
import type { IdempotencyOptions } from "../../src/index.js";
import { idempotencyApp, pay } from "../support/idempotency-app.js";

/** An application that gives another kind of value than the types allow, as JavaScript can. */
function shopWith(options: Record<string, unknown>) {
  return idempotencyApp({ idempotency: options as Partial<IdempotencyOptions> });
}

const NO_DECISION: Record<string, unknown> = { "a promise": Promise.resolve(false), zero: 0, text: "no", null: null };

test.each(Object.entries(NO_DECISION))(
  "C64: keep that gives %s decides nothing: the default does",
  async (_name, given) => {
    for (const [status, isKept] of [
      [201, true],
      [503, false],
    ] as const) {
      const shop = await idempotencyApp({
        idempotency: { keep: () => given as never },
        handler: (_req, res) => void res.status(status).json({}),
      });
      for (let round = 0; round < 2; round += 1) expect((await pay(shop, "key-1")).status).toBe(status);
      expect(shop.runs()).toBe(isKept ? 1 : 2);
    }
  },
);

test.each([
  ["a promise", Promise.resolve("a")],
  ["a number", 7],
  ["a list", ["a"]],
  ["an object", { toString: () => "a" }],
  ["false", false],
])("C60: a scope that is %s is none; nobody's own scope takes its place", async (_name, given) => {
  const shop = await shopWith({ scope: () => given });
  const mira = await shop.signedIn("mira");
  const page = await mira.post("/pay", {}, { "idempotency-key": "key-1" });
  expect([page.status, page.text]).toEqual([400, '{"error":"idempotency_scope_required"}']);
  expect([shop.runs(), await shop.client.keys("idempotency:*")]).toEqual([0, []]);
});

test.each([undefined, null, ""])("C60: a scope that is %j leaves it to the login", async (given) => {
  const shop = await shopWith({ scope: () => given });
  const [mira, noor] = [await shop.signedIn("mira"), await shop.signedIn("noor")];
  for (const [device, text] of [
    [mira, '{"id":1}'],
    [noor, '{"id":2}'],
    [mira, '{"id":1,"replayed":true}'],
  ] as const) {
    expect((await device.post("/pay", {}, { "idempotency-key": "key-1" })).text).toBe(text);
  }
});

test.each([
  ["a promise", Promise.resolve("a")],
  ["a number", 4711],
  ["undefined", undefined],
])(
  "C52: a fingerprint that is %s is a TypeError that does not show it, and nothing is claimed",
  async (_name, given) => {
    const shop = await shopWith({ fingerprint: () => given });
    const page = await pay(shop, "key-1");
    expect([page.status, page.json()]).toEqual([500, { code: "ERR_INVALID_ARG_TYPE" }]);
    const [error] = shop.errors as Error[];
    expect(error).toBeInstanceOf(TypeError);
    expect(error?.message).toMatch(/^idempotency: fingerprint: expected text or bytes, got (?!.*4711)/);
    expect([shop.runs(), await shop.client.keys("idempotency:*")]).toEqual([0, []]);
  },
);

test("C52: a key option that gives no text is no key", async () => {
  for (const given of [undefined, null, 7, ["a"], Promise.resolve("a")]) {
    const shop = await shopWith({ key: () => given });
    expect((await pay(shop, undefined)).text).toBe('{"error":"idempotency_key_required"}');
    expect(shop.runs()).toBe(0);
  }
});

test("C61: the header goes before the key option, also a bad one; the option is judged as the header is", async () => {
  const shop = await idempotencyApp({ idempotency: { key: (req: Request) => req.body?.key } });
  expect((await pay(shop, undefined, { key: "a" })).json()["id"]).toBe(1);
  expect((await pay(shop, "a", { key: "a" })).json()["replayed"]).toBe(true);
  expect((await pay(shop, "b", { key: "a" })).json()["id"]).toBe(2);
  expect((await pay(shop, "", { key: "a" })).text).toBe('{"error":"idempotency_key_required"}');
  for (const [key, error] of [
    [" ", "required"],
    ["k".repeat(256), "too_long"],
    ["a b", "invalid"],
  ]) {
    expect((await pay(shop, undefined, { key })).text).toBe(`{"error":"idempotency_key_${error}"}`);
  }
  expect(shop.runs()).toBe(2);
});

const UNSEEN: Record<string, () => unknown> = {
  "a Map": () => new Map([["amount", 5]]),
  "a Set": () => new Set([5]),
  URLSearchParams: () => new URLSearchParams("amount=5"),
  FormData: () => new FormData(),
  "a Map inside": () => ({ parts: [new Map([["amount", 5]])] }),
  "a circle": () => {
    const body: Record<string, unknown> = {};
    body["self"] = body;
    return body;
  },
  "a toJSON that throws": () => ({
    toJSON: () => {
      throw new Error("no");
    },
  }),
  "a function": () => () => 5,
};

/** As a parser of the application's own: it reads the body and leaves what it likes. */
function parsed(body: () => unknown): RequestHandler {
  return (req, _res, next) => {
    req.body = body();
    next();
  };
}

test.each(Object.entries(UNSEEN))(
  "C52: a body that was parsed into %s is refused, not taken for an empty one",
  async (_name, body) => {
    const shop = await idempotencyApp({ before: [parsed(body)] });
    const page = await pay(shop, "key-1");
    expect([page.status, page.text, shop.runs()]).toEqual([415, '{"error":"idempotency_body_unreadable"}', 0]);
  },
);

test("C52: amounts parsed into BigInts are compared digit by digit; objects with a class or without one by their members", async () => {
  class Amount {
    readonly amount: bigint;
    constructor(amount: bigint) {
      this.amount = amount;
    }
  }
  let body: unknown;
  const shop = await idempotencyApp({
    before: [parsed(() => body)],
    handler: (_req, res) => void res.json({ run: shop.runs() }),
  });
  body = { amount: 9007199254740993n };
  expect((await pay(shop, "key-1")).text).toBe('{"run":1}');
  for (const same of [new Amount(9007199254740993n), Object.assign(Object.create(null), body)]) {
    body = same;
    expect((await pay(shop, "key-1")).text).toBe('{"run":1,"replayed":true}');
  }
  body = { amount: 9007199254740992n };
  expect((await pay(shop, "key-1")).status).toBe(422);
  for (const empty of [{}, Object.create(null), { a: [], b: {} }]) {
    body = empty;
    expect((await pay(shop, `key-${shop.runs() + 1}`)).status).toBe(200);
  }
});
