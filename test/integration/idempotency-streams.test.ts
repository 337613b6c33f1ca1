import { once } from "node:events";
import { createReadStream } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline, Readable } from "node:stream";
import { pipeline as piped } from "node:stream/promises";
import express5, { type RequestHandler } from "express";
import express4 from "express4";
import { expect, onTestFinished, test } from "vitest";
import { idempotency } from "../../src/index.js";
import { freshClient } from "../support/clients.js";
import { Gate } from "../support/gate.js";
import { type IdempotencyApp, idempotencyApp, pay } from "../support/idempotency-app.js";
import { begin, linesOf, rawRequest } from "../support/raw-request.js";
import { serve } from "../support/serve.js";

const KEYED = { "idempotency-key": "key-1" };
const NOT_REPLAYABLE = '{"error":"response_not_replayable","status":200}';
const CHUNK = 65_536;

/** A file with bytes that are no text. */
async function fileOf(bytes: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "idempotency-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "data.bin");
  await writeFile(
    path,
    Uint8Array.from({ length: bytes }, (_value, at) => at % 251),
  );
  return path;
}

const WAYS: Record<string, (path: string) => RequestHandler> = {
  "pipeline(file, res)": (path) => (_req, res, next) => {
    pipeline(createReadStream(path), res, (error) => error && next(error));
  },
  "await pipeline(file, res)": (path) => (_req, res, next) => {
    piped(createReadStream(path), res).catch(next);
  },
  "file.pipe(res)": (path) => (_req, res) => void createReadStream(path).pipe(res),
  "sendFile()": (path) => (_req, res) => res.sendFile(path),
  "download()": (path) => (_req, res) => res.download(path, "bill.bin"),
};

for (const [version, express] of [
  ["Express 5", express5],
  ["Express 4", express4 as unknown as typeof express5],
] as const) {
  test.each(Object.entries(WAYS))(
    `C55: ${version}: %s is replayed byte for byte, and runs once`,
    async (_name, way) => {
      const path = await fileOf(200_000);
      let runs = 0;
      const app = express();
      app.post("/pay", idempotency({ client: await freshClient(), scope: () => "tests" }), (req, res, next) => {
        runs += 1;
        way(path)(req, res, next);
      });
      const base = await serve(app);
      const send = () => rawRequest(`${base}/pay`, { method: "POST", headers: KEYED });
      const [first, again] = [await send(), await send()];
      expect([first.status, again.status, runs]).toEqual([200, 200, 1]);
      expect(first.body).toHaveLength(200_000);
      expect(again.body.equals(first.body)).toBe(true);
      expect(linesOf(again, "idempotency-replayed")).toEqual(["true"]);
      for (const name of ["content-type", "content-disposition", "etag", "last-modified"]) {
        expect([name, linesOf(again, name)]).toEqual([name, linesOf(first, name)]);
      }
      expect(linesOf(again, "content-length")).toEqual(["200000"]);
    },
  );
}

test("C55: what a handler writes goes out at once, piece by piece; only the end waits", async () => {
  const gates = Array.from({ length: 5 }, () => new Gate());
  const shop = await idempotencyApp({
    handler: async (_req, res) => {
      for (const [index, gate] of gates.entries()) {
        res.write(`piece ${index} `);
        await gate.pass();
      }
      res.end("the end");
    },
  });
  const sent = begin(`${shop.base}/pay`, { method: "POST", headers: KEYED });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  let text = "";
  response.setEncoding("utf8").on("data", (piece) => {
    text += piece;
  });
  for (const [index, gate] of gates.entries()) {
    // The handler waits for this very piece to have arrived.
    await expect.poll(() => text, { interval: 5 }).toContain(`piece ${index} `);
    gate.open();
  }
  await once(response, "end");
  const whole = "piece 0 piece 1 piece 2 piece 3 piece 4 the end";
  const again = await rawRequest(`${shop.base}/pay`, { method: "POST", headers: KEYED });
  expect([text, again.body.toString(), shop.runs()]).toEqual([whole, whole, 1]);
});

test("C55: an event stream reaches its client event by event; a repeat is told that it cannot be replayed", async () => {
  const gate = new Gate();
  const shop = await idempotencyApp({
    handler: async (_req, res) => {
      res.set({ "Content-Type": "text/event-stream; charset=utf-8", Location: "/jobs/7" });
      res.write("data: 1\n\n");
      await gate.pass();
      res.end("data: 2\n\n");
    },
  });
  const sent = begin(`${shop.base}/pay`, { method: "POST", headers: KEYED });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const [event] = (await once(response.setEncoding("utf8"), "data")) as [string];
  expect(event).toBe("data: 1\n\n");
  const rest: string[] = [];
  response.on("data", (piece: string) => rest.push(piece));
  gate.open();
  await once(response, "end");
  expect(rest.join("")).toBe("data: 2\n\n");
  for (let round = 0; round < 2; round += 1) {
    const again = await rawRequest(`${shop.base}/pay`, { method: "POST", headers: KEYED });
    expect([again.status, again.body.toString()]).toEqual([409, NOT_REPLAYABLE]);
    expect([linesOf(again, "location"), linesOf(again, "idempotency-replayed")]).toEqual([["/jobs/7"], ["true"]]);
    expect(linesOf(again, "content-type")).toEqual(["application/json; charset=utf-8"]);
  }
  expect(shop.runs()).toBe(1);
});

/** An answer of this many chunks, each made when it is asked for. */
function chunks(count: number): { source: Readable; made: () => number } {
  let made = 0;
  const source = new Readable({
    highWaterMark: CHUNK,
    read() {
      made += 1;
      this.push(made > count ? null : Buffer.alloc(CHUNK, made % 251));
    },
  });
  return { source, made: () => made };
}

test("C55: 50 MB: the first client gets all of it, and a repeat does not run it again", async () => {
  const COUNT = 763;
  const shop = await idempotencyApp({
    handler: (_req, res, next) => {
      pipeline(chunks(COUNT).source, res, (error) => error && next(error));
    },
  });
  const sent = begin(`${shop.base}/pay`, { method: "POST", headers: KEYED });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  let received = 0;
  for await (const piece of response) received += (piece as Buffer).byteLength;
  expect(received).toBe(COUNT * CHUNK);
  const [record = ""] = await shop.client.keys("idempotency:*");
  expect(await shop.client.hget(record, "response")).toBe('{"status":200,"headers":[]}');
  const again = await rawRequest(`${shop.base}/pay`, { method: "POST", headers: KEYED });
  expect([again.status, again.body.toString(), shop.runs()]).toEqual([409, NOT_REPLAYABLE, 1]);
});

test("C55: a client that does not read holds the handler's stream back", async () => {
  const COUNT = 763;
  let made = (): number => 0;
  const shop = await idempotencyApp({
    handler: (_req, res) => {
      const answer = chunks(COUNT);
      made = answer.made;
      answer.source.pipe(res);
    },
  });
  const sent = begin(`${shop.base}/pay`, { method: "POST", headers: KEYED });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  // Nobody reads: once the buffers on the way are full, nothing more is made.
  let before = -1;
  await expect
    .poll(
      () => {
        const isStill = before === made();
        before = made();
        return isStill;
      },
      { interval: 200, timeout: 10_000 },
    )
    .toBe(true);
  expect(made()).toBeLessThan(COUNT / 2);
  let received = 0;
  for await (const piece of response) received += (piece as Buffer).byteLength;
  expect([received, shop.runs()]).toEqual([COUNT * CHUNK, 1]);
});

test("C55: the limit: a body of exactly maxBodyBytes is replayed, one byte more is not; in one piece or in several", async () => {
  for (const [bytes, isReplayed] of [
    [1_000, true],
    [1_001, false],
  ] as const) {
    for (const pieces of [1, 2, 7]) {
      const shop = await idempotencyApp({
        idempotency: { maxBodyBytes: 1_000 },
        handler: (_req, res) => {
          for (let piece = 1; piece < pieces; piece += 1) res.write("x");
          res.end("x".repeat(bytes - pieces + 1));
        },
      });
      const first = await pay(shop, "key-1");
      expect(first.text).toBe("x".repeat(bytes));
      const again = await pay(shop, "key-1");
      expect([again.status, again.text]).toEqual(isReplayed ? [200, first.text] : [409, NOT_REPLAYABLE]);
      expect(shop.runs()).toBe(1);
    }
  }
});

test("C55: a part of something (206) is not replayed as the whole", async () => {
  const path = await fileOf(1_000);
  const shop = await idempotencyApp({ handler: (_req, res) => res.sendFile(path) });
  const send = (range?: string) =>
    rawRequest(`${shop.base}/pay`, { method: "POST", headers: { ...KEYED, ...(range && { range }) } });
  const part = await send("bytes=0-9");
  expect([part.status, part.body.length]).toEqual([206, 10]);
  for (const range of ["bytes=0-9", undefined]) {
    const again = await send(range);
    expect([again.status, again.body.toString()]).toEqual([409, '{"error":"response_not_replayable","status":206}']);
  }
  expect(shop.runs()).toBe(1);
});

/** What repeats are told, each once, until one is told `last`. */
async function toldUntil(shop: IdempotencyApp, last: string): Promise<string[]> {
  const told = new Set<string>();
  const ask = async (): Promise<string> => {
    const { text } = await pay(shop, "key-1");
    told.add(text);
    return text;
  };
  await expect.poll(ask, { interval: 30, timeout: 5_000 }).toBe(last);
  return [...told];
}

const UNENDED: Record<string, RequestHandler> = {
  "a client that hangs up stops a stream": (_req, res) => void chunks(763).source.pipe(res),
  "a handler fails after it has begun to write": (_req, res) => {
    res.write("half");
    // As Express does it, whose error handler finds the headers sent.
    setTimeout(() => res.req.socket.destroy(), 10);
  },
};

for (const [name, handler] of Object.entries(UNENDED)) {
  test.each([
    ["it runs again", false, "small"],
    ["its outcome is unknown after commit()", true, '{"error":"outcome_unknown"}'],
  ] as const)(
    `C53, C55: ${name}: no answer came, so the key is held for a while; then %s`,
    async (_text, isCommitting, last) => {
      const shop: IdempotencyApp = await idempotencyApp({
        idempotency: { leaseMs: 200, maxRunMs: 300 },
        handler: async (req, res, next) => {
          if (isCommitting) await req.idempotency?.commit();
          if (shop.runs() === 1) handler(req, res, next);
          else res.send("small");
        },
      });
      const headers = { ...KEYED, "content-type": "application/json" };
      const first = begin(`${shop.base}/pay`, { method: "POST", headers });
      first.end('{"amount":5}');
      const [response] = (await once(first, "response")) as [IncomingMessage];
      await once(response, "data");
      first.destroy();
      expect(await toldUntil(shop, last)).toEqual(['{"error":"idempotency_in_progress"}', last]);
      expect(shop.runs()).toBe(isCommitting ? 1 : 2);
    },
  );
}
