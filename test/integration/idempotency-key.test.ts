import fc from "fast-check";
import methodOverride from "method-override";
import { expect, test } from "vitest";
import { parseKey, readKey } from "../../src/idempotency/idempotency-key.js";
import { clientOnOwnServer, commandCalls, resetCommandCalls } from "../support/command-stats.js";
import { type IdempotencyApp, idempotencyApp, pay } from "../support/idempotency-app.js";
import { linesOf, rawRequest } from "../support/raw-request.js";

const INVALID = '{"error":"idempotency_key_invalid"}';

/** Sends header lines as they are. */
async function payWith(shop: IdempotencyApp, lines: string | readonly string[]): Promise<string> {
  const headers = { "content-type": "application/json", "idempotency-key": lines as string | string[] };
  const page = await rawRequest(`${shop.base}/pay`, { method: "POST", headers, body: '{"amount":5}' });
  return `${page.status} ${page.body.toString()}`;
}

const SAME = {
  "quoted and bare": ['"abc"', "abc"],
  "an escaped quote": ['"a\\"b"', '  "a\\"b"\t'],
  "an escaped backslash, and a bare one": ['"a\\\\b"', "a\\b"],
  "spaces around it": ["  abc  ", "abc"],
  "the characters at both ends": ['"!~"', "!~"],
} as const;

for (const [name, [one, other]] of Object.entries(SAME)) {
  test(`C61: the same key: ${name}`, async () => {
    const shop = await idempotencyApp();
    expect(await payWith(shop, one)).toBe('201 {"id":1,"amount":5}');
    expect(await payWith(shop, other)).toBe('201 {"id":1,"amount":5,"replayed":true}');
    expect(shop.runs()).toBe(1);
  });
}

test("C61: other keys: upper and lower case, and what looks encoded", async () => {
  const shop = await idempotencyApp();
  const keys = ["abc", "ABC", "%61bc", ":YWJj:", "abc;p=1", "abc,abc", "'abc'", "0", "null", "__proto__", "*", "a:b"];
  for (const [index, key] of keys.entries()) {
    expect(await payWith(shop, key)).toBe(`201 {"id":${index + 1},"amount":5}`);
  }
  expect([shop.runs(), (await shop.client.keys("idempotency:*")).length]).toEqual([keys.length, keys.length]);
});

const REFUSED = [
  '"abc";p=1',
  '"abc',
  'abc"',
  'a"b',
  '"a"b"',
  '"',
  '"a\\b"',
  '"abc\\"',
  '"abc" "abc"',
  '"abc", "abc"',
  "abc, abc",
  "abc def",
  '"abc def"',
  "é",
  '"é"',
  "a\tb",
  "a\u00a0b",
  "\u00a0abc",
];

test("C61: what is no key is refused with 400, without a Redis command and without a run", async () => {
  const client = await clientOnOwnServer();
  const shop = await idempotencyApp({ idempotency: { client: client as never } });
  await resetCommandCalls(client);
  for (const key of REFUSED) expect([key, await payWith(shop, key)]).toEqual([key, `400 ${INVALID}`]);
  for (const lines of [
    ["abc", "abc"],
    ["abc", "def"],
    ["", "abc"],
    ["abc", ""],
  ]) {
    expect([lines, await payWith(shop, lines)]).toEqual([lines, `400 ${INVALID}`]);
  }
  for (const key of ["", " ", '""', '" "', "\t"]) {
    expect(await payWith(shop, key)).toBe('400 {"error":"idempotency_key_required"}');
  }
  expect(await payWith(shop, "k".repeat(256))).toBe('400 {"error":"idempotency_key_too_long"}');
  expect([shop.runs(), Object.fromEntries(await commandCalls(client))]).toEqual([0, {}]);
});

test("C61: any text is judged without an exception, and quoted and bare spelling agree", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 600 }),
    fc.string({ unit: fc.constantFrom('"', "\\", " ", "\t", "a", ";", "~", "é"), maxLength: 20 }),
  );
  fc.assert(
    fc.property(text, (value) => {
      const sent = parseKey(value);
      if (sent.kind === "key") expect(sent.key).toMatch(/^[\x21-\x7e]{1,255}$/);
      expect(parseKey(` ${value}\t`)).toEqual(sent);
    }),
    { seed: 61, numRuns: 2_000 },
  );
  const key = fc.string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
    minLength: 1,
    maxLength: 255,
  });
  fc.assert(
    fc.property(key, (value) => {
      const quoted = `"${value.replace(/["\\]/g, "\\$&")}"`;
      expect(parseKey(quoted)).toEqual({ kind: "key", key: value });
      if (!value.includes('"')) expect(parseKey(value)).toEqual({ kind: "key", key: value });
    }),
    { seed: 61, numRuns: 2_000 },
  );
});

test("C61: a key takes no time to judge, whatever it is made of", () => {
  const long = 200_000;
  const startMs = performance.now();
  for (const filler of [" ", "\t", '"', "\\", '\\"', "a", " \t"]) {
    for (const value of [`a${filler.repeat(long)}b`, `"${filler.repeat(long)}`, filler.repeat(long)]) parseKey(value);
  }
  expect(performance.now() - startMs).toBeLessThan(1_000);
});

test("C61: a request without the header has no key", () => {
  expect(readKey({ headersDistinct: {} } as never)).toEqual({ kind: "missing" });
});

test("C59: safe methods pass untouched, with or without a key; the key is not used up, and Redis is not asked", async () => {
  const client = await clientOnOwnServer();
  const shop = await idempotencyApp({ idempotency: { client: client as never } });
  await resetCommandCalls(client);
  let runs = 0;
  for (const method of ["GET", "HEAD", "OPTIONS"]) {
    for (const headers of [{}, { "idempotency-key": "key-1" }, { "idempotency-key": " " }]) {
      const page = await rawRequest(`${shop.base}/pay`, { method, headers });
      runs += 1;
      expect([page.status, linesOf(page, "idempotency-replayed"), shop.runs()]).toEqual([201, [], runs]);
    }
  }
  expect(Object.fromEntries(await commandCalls(client))).toEqual({});
  expect((await pay(shop, "key-1")).status).toBe(201);
  expect((await pay(shop, "key-1")).headers.get("idempotency-replayed")).toBe("true");
  expect(shop.runs()).toBe(runs + 1);
});

test("C59: POST and PATCH are guarded by default, PUT and DELETE only where they are named", async () => {
  for (const [methods, guarded] of [
    [undefined, ["POST", "PATCH"]],
    [
      ["PUT", "DELETE"],
      ["PUT", "DELETE"],
    ],
  ] as const) {
    const shop = await idempotencyApp({ idempotency: { methods } });
    for (const method of ["POST", "PATCH", "PUT", "DELETE"]) {
      const before = shop.runs();
      const pages = [
        await pay(shop, `key-${method}`, undefined, { method }),
        await pay(shop, `key-${method}`, undefined, { method }),
      ];
      const isGuarded = (guarded as readonly string[]).includes(method);
      expect([method, pages.map(({ status }) => status), shop.runs() - before]).toEqual([
        method,
        [201, 201],
        isGuarded ? 1 : 2,
      ]);
      expect((await pay(shop, undefined, undefined, { method })).status).toBe(isGuarded ? 400 : 201);
    }
  }
});

test("C59: an overridden method is guarded by what came over the wire and by what it became, and is another request", async () => {
  const shop = await idempotencyApp({ before: [methodOverride()] });
  const override = { "x-http-method-override": "PUT" };
  expect((await pay(shop, undefined, undefined, { headers: override })).status).toBe(400);
  expect((await pay(shop, "key-1", undefined, { headers: override })).json()).toEqual({ id: 1, amount: 5 });
  expect((await pay(shop, "key-1", undefined, { headers: override })).json()).toEqual({
    id: 1,
    amount: 5,
    replayed: true,
  });
  for (const headers of [{}, { "x-http-method-override": "PATCH" }]) {
    expect((await pay(shop, "key-1", undefined, { headers })).status).toBe(422);
  }
  expect(shop.runs()).toBe(1);
});

test("C59: a preflight passes through to what answers it", async () => {
  const shop = await idempotencyApp({
    before: [
      (req, res, next) =>
        req.method === "OPTIONS"
          ? void res.set("Access-Control-Allow-Headers", "Idempotency-Key").status(204).end()
          : next(),
    ],
  });
  const page = await rawRequest(`${shop.base}/pay`, {
    method: "OPTIONS",
    headers: { origin: "https://a.example", "access-control-request-headers": "idempotency-key" },
  });
  expect([page.status, page.headers["access-control-allow-headers"], shop.runs()]).toEqual([204, "Idempotency-Key", 0]);
});
