import { gzipSync } from "node:zlib";
import type { RequestHandler, Response } from "express";
import onHeaders from "on-headers";
import { expect, test } from "vitest";
import type { IdempotencyOptions } from "../../src/index.js";
import { idempotencyApp } from "../support/idempotency-app.js";
import { linesOf, type RawPage, rawRequest } from "../support/raw-request.js";

const KEYED = { "idempotency-key": "key-1", "content-type": "application/json" };

/** The first answer and its replay; the handler has run once. */
async function twice(
  answer: (res: Response) => unknown,
  options: { readonly before?: RequestHandler[]; readonly idempotency?: Partial<IdempotencyOptions> } = {},
): Promise<[first: RawPage, again: RawPage]> {
  const shop = await idempotencyApp({ ...options, handler: (_req, res) => void answer(res) });
  const send = (): Promise<RawPage> => rawRequest(`${shop.base}/pay`, { method: "POST", headers: KEYED, body: "{}" });
  const pages: [RawPage, RawPage] = [await send(), await send()];
  expect(shop.runs()).toBe(1);
  expect(linesOf(pages[0], "idempotency-replayed")).toEqual([]);
  expect(linesOf(pages[1], "idempotency-replayed")).toEqual(["true"]);
  return pages;
}

const PNG = Buffer.from("89504e470d0a1a0a0000000d494844520000000100000001080600", "hex");

const SAME: Record<string, (res: Response) => unknown> = {
  "status 204": (res) => res.status(204).end(),
  "sendStatus(205)": (res) => res.sendStatus(205),
  "end()": (res) => res.end(),
  "end(callback)": (res) => res.end(() => undefined),
  "status 201, end()": (res) => res.status(201).end(),
  "json(null)": (res) => res.json(null),
  "json(undefined)": (res) => res.json(undefined),
  'send("")': (res) => res.send(""),
  "status 304": (res) => res.status(304).end(),
  "redirect 303": (res) => res.redirect(303, "/orders/1?a=b"),
  "redirect 302": (res) => res.redirect("/orders/é"),
  "sendStatus(404)": (res) => res.sendStatus(404),
  "PNG bytes": (res) => res.type("png").send(PNG),
  "an array": (res) => res.json([{ a: 1 }]),
  "a number": (res) => res.json(7),
  text: (res) => res.type("text").send("größer {"),
  "HTML that looks like JSON": (res) => res.send('{"a":1}'),
  "latin1 text": (res) => res.type("text/plain; charset=latin1").end("größer", "latin1"),
  "base64 to end()": (res) => res.type("png").end(PNG.toString("base64"), "base64"),
  "writeHead and end": (res) => res.writeHead(202, "Noted", { "X-A": "1", "Content-Type": "text/plain" }).end("noted"),
  "five writes": (res) => {
    for (const chunk of ["one ", PNG, "zwö "]) res.write(chunk);
    res.write("YQ==", "base64");
    res.end(PNG);
  },
  "a broken JSON object": (res) => res.type("json").send('{"a":1'),
  "JSON with a byte order mark": (res) => res.type("json").send(Buffer.from('\ufeff{"a":1}')),
  "JSON in UTF-16": (res) => res.type("application/json; charset=utf-16le").send(Buffer.from('{"a":1}', "utf16le")),
  "an object behind other text": (res) => res.type("json").send('[1]{"a":1}'),
  "a problem of another kind": (res) => res.type("application/jsonx").send('{"a":1}'),
};

test.each(Object.entries(SAME))("C58: %s is replayed as it was, with its status", async (_name, answer) => {
  const [first, again] = await twice(answer);
  expect([again.status, again.body]).toEqual([first.status, first.body]);
  for (const name of ["content-type", "location"]) expect(linesOf(again, name)).toEqual(linesOf(first, name));
  const hasLength = again.status !== 204 && again.status !== 304;
  expect(linesOf(again, "content-length")).toEqual(hasLength ? [String(first.body.length)] : []);
  if (!hasLength) expect(first.body).toHaveLength(0);
});

const MARKED = [
  ["{}", '{"replayed":true}'],
  ["{ }", '{"replayed":true }'],
  ["{\n}\n", '{"replayed":true\n}\n'],
  [
    '{"id":9007199254740993,"a":1.0,"b":1e400,"c":-0}',
    '{"id":9007199254740993,"a":1.0,"b":1e400,"c":-0,"replayed":true}',
  ],
  ['{"b":1,"a":2,"1":3}', '{"b":1,"a":2,"1":3,"replayed":true}'],
  ['{"ü":"é😀\\u00e9","lone":"\\ud800"}', '{"ü":"é😀\\u00e9","lone":"\\ud800","replayed":true}'],
  ['{\r\n  "a": [\r\n    1\r\n  ]\r\n}\r\n\r\n', '{\r\n  "a": [\r\n    1\r\n  ],"replayed":true\r\n}\r\n\r\n'],
  ['  {"a":"}"}  ', '  {"a":"}","replayed":true}  '],
  ['{"a":{}}', '{"a":{},"replayed":true}'],
  ['{"a":"à"}', '{"a":"à","replayed":true}'],
  ['{"replayed":false,"a":1}', '{"replayed":false,"a":1,"replayed":true}'],
  ['{"__proto__":1}', '{"__proto__":1,"replayed":true}'],
] as const;

test.each(MARKED)("C58: JSON %j is byte for byte the same but for the mark", async (text, marked) => {
  const [first, again] = await twice((res) => res.type("json").end(text));
  expect([first.body.toString(), again.body.toString()]).toEqual([text, marked]);
  expect(JSON.parse(again.body.toString()).replayed).toBe(true);
  expect(linesOf(again, "content-length")).toEqual([String(Buffer.byteLength(marked))]);
});

test.each(["application/problem+json", "Application/VND.api+JSON;v=1"])("C58: %s is marked as well", async (type) => {
  const [, again] = await twice((res) => res.status(422).set("Content-Type", type).end('{"a":1}'));
  expect([again.status, again.body.toString()]).toEqual([422, '{"a":1,"replayed":true}']);
  expect(linesOf(again, "content-type")).toEqual([type]);
});

test("C58: JSON in another charset keeps its bytes beside the mark", async () => {
  const [first, again] = await twice((res) => {
    res.setHeader("Content-Type", "application/json; charset=iso-8859-1");
    res.end(Buffer.from('{"name":"Müller"}', "latin1"));
  });
  expect(first.body.toString("latin1")).toBe('{"name":"Müller"}');
  expect(again.body).toEqual(Buffer.from('{"name":"Müller","replayed":true}', "latin1"));
});

test("C58, C56: ETag and Last-Modified go where the mark comes in, and stay elsewhere, however they were named", async () => {
  const validators = (res: Response): Response =>
    res.set({ ETag: '"a"', "Last-Modified": "Tue, 01 Dec 2026 00:00:00 GMT" });
  const options = { idempotency: { replayHeaders: ["etag", "LAST-MODIFIED", "X-A", "x-a"] } };
  const [, marked] = await twice((res) => validators(res).set("X-A", "1").json({ a: 1 }), options);
  for (const name of ["etag", "last-modified"]) expect(linesOf(marked, name)).toEqual([]);
  expect(linesOf(marked, "x-a")).toEqual(["1"]);
  const [first, kept] = await twice((res) => validators(res).json([1]), options);
  for (const name of ["etag", "last-modified"]) {
    expect(linesOf(kept, name)).toEqual(linesOf(first, name));
    expect(linesOf(kept, name)).toHaveLength(1);
  }
});

/** Compresses what `end` gets, as middlewares do that are mounted first. */
const gzip: RequestHandler = (req, res, next) => {
  if (!(req.get("accept-encoding") ?? "").includes("gzip")) return next();
  onHeaders(res, () => {
    res.removeHeader("Content-Length");
    res.setHeader("Content-Encoding", "gzip");
  });
  const end = res.end.bind(res) as (chunk?: unknown) => Response;
  res.end = ((chunk?: string | Buffer) => {
    if (!res.headersSent) res.writeHead(res.statusCode);
    return end(chunk === undefined ? undefined : gzipSync(chunk));
  }) as typeof res.end;
  next();
};

test("C58: a compression middleware before it compresses answer and replay, each as its own request asks", async () => {
  const shop = await idempotencyApp({ before: [gzip], handler: (_req, res) => void res.json({ a: "ü" }) });
  const send = (encoding: string): Promise<RawPage> =>
    rawRequest(`${shop.base}/pay`, { method: "POST", headers: { ...KEYED, "accept-encoding": encoding }, body: "{}" });
  expect((await send("gzip")).body).toEqual(gzipSync('{"a":"ü"}'));
  const zipped = await send("gzip");
  expect([zipped.body, linesOf(zipped, "content-encoding")]).toEqual([gzipSync('{"a":"ü","replayed":true}'), ["gzip"]]);
  const plain = await send("identity");
  expect([plain.body.toString(), linesOf(plain, "content-encoding")]).toEqual(['{"a":"ü","replayed":true}', []]);
  expect(shop.runs()).toBe(1);
});

test("C58: what the handler has compressed itself is replayed as it was", async () => {
  const [first, again] = await twice((res) =>
    res.type("json").set("Content-Encoding", "gzip").send(gzipSync('{"a":1}')),
  );
  expect(again.body).toEqual(first.body);
  expect(linesOf(again, "content-encoding")).toEqual(["gzip"]);
});
