import express5, { type RequestHandler } from "express";
import express4 from "express4";
import multer from "multer";
import { expect, test } from "vitest";
import { idempotency } from "../../src/index.js";
import { freshClient } from "../support/clients.js";
import { Gate } from "../support/gate.js";
import { idempotencyApp, pay } from "../support/idempotency-app.js";
import { serve } from "../support/serve.js";

const REUSED = '422 {"error":"idempotency_key_reused"}';
const UNREADABLE = '415 {"error":"idempotency_body_unreadable"}';

const MISMATCHES = [
  ["another amount", { amount: 6 }, {}],
  ["another path", { amount: 5 }, { path: "/refund" }],
  ["a query", { amount: 5 }, { path: "/pay?x=1" }],
  ["another method", { amount: 5 }, { method: "PATCH" }],
  ["another type of body", "amount=5", { headers: { "content-type": "application/x-www-form-urlencoded" } }],
  ["text instead of a number", { amount: "5" }, {}],
  ["a further member", { amount: 5, note: null }, {}],
  ["an empty object", {}, {}],
  ["an array", [{ amount: 5 }], {}],
] as const;

test("C52: another request under the key is refused with 422, also while the first runs; the first's record stays", async () => {
  const gate = new Gate();
  const shop = await idempotencyApp({
    handler: (_req, res) => void gate.pass().then(() => res.status(201).json({ id: 1 })),
  });
  const first = pay(shop, "key-1");
  await gate.arrived;
  const [record = ""] = await shop.client.keys("idempotency:*");
  const mismatches = async (): Promise<void> => {
    const before = await shop.client.hgetall(record);
    for (const [name, body, options] of MISMATCHES) {
      const page = await pay(shop, "key-1", body, options);
      expect([name, `${page.status} ${page.text}`]).toEqual([name, REUSED]);
      expect(page.headers.get("retry-after")).toBeNull();
    }
    const bare = await fetch(`${shop.base}/pay`, { method: "POST", headers: { "idempotency-key": "key-1" } });
    expect(`${bare.status} ${await bare.text()}`).toBe(REUSED);
    expect(await shop.client.hgetall(record)).toEqual(before);
  };
  await mismatches();
  gate.open();
  expect((await first).text).toBe('{"id":1}');
  await mismatches();
  expect((await pay(shop, "key-1")).text).toBe('{"id":1,"replayed":true}');
  expect([shop.runs(), await shop.client.keys("idempotency:*")]).toEqual([1, [record]]);
});

for (const [name, express] of [
  ["Express 5", express5],
  ["Express 4", express4 as unknown as typeof express5],
] as const) {
  test(`C52: ${name}: equal JSON is the same request whatever its layout; a query in any order`, async () => {
    const { base, runs } = await plainApp(express, [express.json()]);
    const send = (body: string, path = "/pay?a=1&b=2"): Promise<string> =>
      post(base, body, { "content-type": "application/json" }, path);
    expect(await send('{"a":1,"b":{"c":[1,2],"ü":"é😀"}}')).toBe('200 {"run":1}');
    for (const same of [
      '{"b":{"ü":"é😀","c":[1,2]},"a":1}',
      '{\r\n  "a" : 1.0,\n\t"b": { "c": [ 1, 2 ], "\\u00fc": "\\u00e9\\ud83d\\ude00" }\n}\n',
    ]) {
      expect(await send(same)).toBe('200 {"run":1,"replayed":true}');
    }
    expect(await send('{"a":1,"b":{"c":[1,2],"ü":"é😀"}}', "/pay?b=2&a=1")).toBe('200 {"run":1,"replayed":true}');
    const others = ['{"a":1,"b":{"c":[2,1],"ü":"é😀"}}', '{"a":1,"b":{"c":[1,2],"ü":"é😀","__proto__":1}}', '{"a":1}'];
    for (const other of others) expect(await send(other)).toBe(REUSED);
    expect(await send('{"a":1,"b":{"c":[1,2],"ü":"é😀"}}', "/pay?a=2&b=1")).toBe(REUSED);
    expect(runs()).toBe(1);
  });

  test(`C52: ${name}: a body that no parser has read is refused, and never taken for an empty one`, async () => {
    const { base, runs } = await plainApp(express, [express.json()]);
    expect(await post(base, undefined)).toBe('200 {"run":1}');
    expect(await post(base, undefined)).toBe('200 {"run":1,"replayed":true}');
    for (const type of [
      "text/plain",
      "application/octet-stream",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
    ]) {
      expect(await post(base, "amount=5", { "content-type": type })).toBe(UNREADABLE);
    }
    expect(await post(base, "{}", { "content-type": "application/json" })).toBe(REUSED);
    expect(await post(base, "{}", { "content-type": "application/json", "idempotency-key": "key-2" })).toBe(
      '200 {"run":2}',
    );
    expect(await post(base, undefined, { "idempotency-key": "key-2" })).toBe(REUSED);
    expect(runs()).toBe(2);
  });

  test(`C52: ${name}: text and bytes count as they are`, async () => {
    const { base, runs } = await plainApp(express, [express.text(), express.raw()]);
    for (const [index, type] of ["text/plain", "application/octet-stream"].entries()) {
      const headers = { "content-type": type, "idempotency-key": type };
      expect(await post(base, "a b", headers)).toBe(`200 {"run":${index + 1}}`);
      expect(await post(base, "a b", headers)).toBe(`200 {"run":${index + 1},"replayed":true}`);
      expect(await post(base, "a  b", headers)).toBe(REUSED);
    }
    expect(runs()).toBe(2);
  });

  test(`C52: ${name}: of an upload its bytes, fields and names count, the boundary does not`, async () => {
    const { base, runs } = await plainApp(express, [multer({ storage: multer.memoryStorage() }).any()]);
    const send = async (parts: { bytes?: string; name?: string; field?: string; more?: boolean }): Promise<string> => {
      const { bytes = "some bytes", name = "a.bin", field = "invoice", more = false } = parts;
      // A new FormData has a new boundary.
      const body = new FormData();
      body.append("note", "é");
      body.append(field, new Blob([bytes.repeat(20_000)]), name);
      if (more) body.append("other", new Blob(["x"]), "x.bin");
      return post(base, body);
    };
    expect(await send({})).toBe('200 {"run":1}');
    expect(await send({})).toBe('200 {"run":1,"replayed":true}');
    for (const other of [{ bytes: "same bytes" }, { name: "b.bin" }, { field: "receipt" }, { more: true }]) {
      expect(await send(other)).toBe(REUSED);
    }
    expect(runs()).toBe(1);
  });
}

test("C52: with the fingerprint option the application says what makes a body the same", async () => {
  const client = await freshClient();
  const guard = idempotency({
    client,
    scope: () => "tests",
    fingerprint: (req: express5.Request) => req.get("x-digest") ?? "",
  });
  const { base, runs } = await plainApp(express5, [], guard);
  expect(await post(base, "one", { "x-digest": "1" })).toBe('200 {"run":1}');
  expect(await post(base, "two", { "x-digest": "1" })).toBe('200 {"run":1,"replayed":true}');
  expect(await post(base, "one", { "x-digest": "2" })).toBe(REUSED);
  expect(runs()).toBe(1);
});

test("C52: JSON that is nested absurdly deep is refused as unreadable", async () => {
  const { base, runs } = await plainApp(express5, [express5.json({ limit: "1mb" })]);
  const body = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  expect(await post(base, body, { "content-type": "application/json" })).toBe(UNREADABLE);
  expect(runs()).toBe(0);
});

/** An application of parsers, the guard and a handler that counts. */
async function plainApp(
  express: typeof express5,
  parsers: readonly RequestHandler[],
  given?: RequestHandler,
): Promise<{ base: string; runs: () => number }> {
  let runs = 0;
  const app = express();
  const guard = given ?? idempotency({ client: await freshClient(), scope: () => "tests" });
  app.post("/pay", ...parsers, guard, (_req, res) => {
    runs += 1;
    res.json({ run: runs });
  });
  return { base: await serve(app), runs: () => runs };
}

async function post(
  base: string,
  body: string | FormData | undefined,
  headers: Record<string, string> = {},
  path = "/pay",
): Promise<string> {
  const page = await fetch(base + path, {
    method: "POST",
    headers: { "idempotency-key": "key-1", ...headers },
    ...(body === undefined ? {} : { body }),
  });
  return `${page.status} ${await page.text()}`;
}
