import { once } from "node:events";
import type { RequestHandler } from "express";
import { expect, test } from "vitest";
import { sleep } from "../support/app.js";
import { clientOf, faultyServer } from "../support/faulty-server.js";
import { Gate } from "../support/gate.js";
import { idempotencyApp, pay } from "../support/idempotency-app.js";
import { begin } from "../support/raw-request.js";

const IN_PROGRESS = '{"error":"idempotency_in_progress"}';
const LEASE = { leaseMs: 150 };

/** Fails the first time, then answers its number. */
function failingFirst(fail: RequestHandler): RequestHandler {
  let runs = 0;
  return (req, res, next) => {
    runs += 1;
    return runs === 1 ? fail(req, res, next) : void res.json({ run: runs });
  };
}

const THROWS: Record<string, RequestHandler> = {
  "throws at once": () => {
    throw new Error("no");
  },
  "throws later": async () => {
    await sleep(5);
    throw new Error("no");
  },
  "calls next(error)": (_req, _res, next) => next(new Error("no")),
};

for (const [name, fail] of Object.entries(THROWS)) {
  test(`C53: a handler that ${name} frees the key at once, and keeps its 500 after commit()`, async () => {
    const shop = await idempotencyApp({ handler: failingFirst(fail) });
    expect((await pay(shop, "key-1")).status).toBe(500);
    expect((await pay(shop, "key-1")).json()).toEqual({ run: 2 });
    expect(shop.runs()).toBe(2);

    const committing = await idempotencyApp({
      handler: failingFirst(async (req, res, next) => {
        await req.idempotency?.commit();
        return fail(req, res, next);
      }),
    });
    for (let round = 0; round < 3; round += 1) expect((await pay(committing, "key-1")).status).toBe(500);
    expect(committing.runs()).toBe(1);
  });
}

test("C53: a handler that never answers holds the key for maxRunMs and a lease; its signal is aborted, the next one runs", async () => {
  const gate = new Gate();
  let signal: AbortSignal | undefined;
  const attempts: unknown[] = [];
  const limits = { leaseMs: 400, maxRunMs: 600 };
  const shop = await idempotencyApp({
    idempotency: limits,
    handler: async (req, res) => {
      attempts.push(req.idempotency?.attempt);
      if (attempts.length > 1) return void res.json({ run: 2 });
      signal = req.idempotency?.signal;
      await gate.pass();
    },
  });
  const startMs = performance.now();
  const first = begin(`${shop.base}/pay`, { method: "POST", headers: { "idempotency-key": "key-1" } });
  first.end();
  await gate.arrived;
  const send = () => pay(shop, "key-1", "", { headers: { "content-length": "0" } });
  expect([(await send()).text, signal?.aborted]).toEqual([IN_PROGRESS, false]);
  await expect.poll(async () => (await send()).status, { timeout: 5_000, interval: 30 }).toBe(200);
  // Kept alive beyond its first lease, and no longer than it may be.
  expect(performance.now() - startMs).toBeGreaterThan(limits.maxRunMs);
  expect(signal?.aborted).toBe(true);
  expect([shop.runs(), attempts, (await send()).json()]).toEqual([2, [1, 2], { run: 2, replayed: true }]);
  first.destroy();
});

test("C53: a handler that cuts its answer off: refused for a lease, then it runs again; the cut one is not replayed", async () => {
  const shop = await idempotencyApp({
    idempotency: LEASE,
    handler: failingFirst((_req, res) => {
      res.write("half");
      setTimeout(() => res.destroy(), 10);
    }),
  });
  await expect(pay(shop, "key-1")).rejects.toThrow();
  expect((await pay(shop, "key-1")).text).toBe(IN_PROGRESS);
  await expect.poll(async () => (await pay(shop, "key-1")).text, { interval: 30 }).toBe('{"run":2}');
  expect((await pay(shop, "key-1")).text).toBe('{"run":2,"replayed":true}');
  expect(shop.runs()).toBe(2);
});

test("C53: a cut after commit() is outcome_unknown, and never runs again", async () => {
  const shop = await idempotencyApp({
    idempotency: LEASE,
    handler: async (req, res) => {
      await req.idempotency?.commit();
      res.destroy();
    },
  });
  await expect(pay(shop, "key-1")).rejects.toThrow();
  await expect.poll(async () => (await pay(shop, "key-1")).text, { interval: 30 }).toBe('{"error":"outcome_unknown"}');
  const page = await pay(shop, "key-1");
  expect([page.status, shop.runs()]).toEqual([409, 1]);
  expect((await pay(shop, "key-1", { amount: 6 })).status).toBe(422);
});

test("C53: the client hangs up while the handler goes on: all of its answer is stored and replayed", async () => {
  const gate = new Gate();
  const shop = await idempotencyApp({
    handler: async (_req, res) => {
      res.status(201).type("json").write('{"id":1,');
      await gate.pass();
      res.write('"text":"');
      res.end(`${"x".repeat(50_000)}"}`);
    },
  });
  const headers = { "idempotency-key": "key-1", "content-type": "application/json" };
  const first = begin(`${shop.base}/pay`, { method: "POST", headers });
  first.end('{"amount":5}');
  await Promise.all([once(first, "response"), gate.arrived]);
  first.destroy();
  await sleep(50);
  expect((await pay(shop, "key-1")).text).toBe(IN_PROGRESS);
  gate.open();
  await expect.poll(async () => (await pay(shop, "key-1")).status, { interval: 20 }).toBe(201);
  expect((await pay(shop, "key-1")).json()).toEqual({ id: 1, text: "x".repeat(50_000), replayed: true });
  expect(shop.runs()).toBe(1);
});

test("C54: a handler slower than its lease keeps the key; replays and renewals do not extend the record's life", async () => {
  const gate = new Gate();
  const leaseMs = 300;
  const shop = await idempotencyApp({
    idempotency: { leaseMs },
    handler: (_req, res) => void gate.pass().then(() => res.json({ run: 1 })),
  });
  const first = pay(shop, "key-1");
  await gate.arrived;
  const [record = ""] = await shop.client.keys("idempotency:*");
  let leftMs = await shop.client.pttl(record);
  const endMs = performance.now() + 3 * leaseMs;
  while (performance.now() < endMs) {
    await sleep(50);
    expect((await pay(shop, "key-1")).text).toBe(IN_PROGRESS);
    const nowMs = await shop.client.pttl(record);
    expect(nowMs).toBeLessThan(leftMs);
    leftMs = nowMs;
  }
  gate.open();
  expect([(await first).text, shop.runs()]).toEqual(['{"run":1}', 1]);
  expect((await pay(shop, "key-1")).text).toBe('{"run":1,"replayed":true}');
});

for (const takeover of [true, false]) {
  test(`C54: an event loop that is blocked for longer than the lease (${takeover ? "taken over" : "nobody came"})`, async () => {
    const gate = new Gate();
    const late: unknown[] = [];
    const slow = await idempotencyApp({
      idempotency: LEASE,
      handler: async (req, res) => {
        await gate.pass();
        const commit = await req.idempotency?.commit().then(
          () => "committed",
          (error: { code: string; status: number }) => `${error.code} ${error.status}`,
        );
        late.push(commit, req.idempotency?.signal.aborted);
        res.json({ by: "slow" });
      },
    });
    // The record as it is while the other process does not run: only time passes for it.
    const other = await idempotencyApp({
      idempotency: { ...LEASE, client: slow.client },
      handler: (req, res) => void res.json({ by: req.idempotency?.attempt }),
    });
    const first = pay(slow, "key-1");
    await gate.arrived;
    const [record = ""] = await slow.client.keys("idempotency:*");
    const ttlMs = await slow.client.pttl(record);
    if (takeover) {
      // What a blocked loop looks like from Redis: no sign of life reached it in time.
      await slow.client.hset(record, "lease", "1");
      expect((await pay(other, "key-1")).text).toBe('{"by":2}');
      expect(await slow.client.pttl(record)).toBeLessThanOrEqual(ttlMs);
      await sleep(LEASE.leaseMs);
    } else {
      const endMs = performance.now() + 2 * LEASE.leaseMs;
      while (performance.now() < endMs) JSON.stringify({});
    }
    gate.open();
    expect((await first).text).toBe('{"by":"slow"}');
    expect(late).toEqual(takeover ? ["ERR_LEASE_LOST 409", true] : ["committed", false]);
    expect((await pay(other, "key-1")).text).toBe(
      takeover ? '{"by":2,"replayed":true}' : '{"by":"slow","replayed":true}',
    );
    expect([slow.runs(), other.runs()]).toEqual([1, takeover ? 1 : 0]);
  });
}

test("C54: a handler that has answered is not told that it lost its key", async () => {
  const signals: AbortSignal[] = [];
  const shop = await idempotencyApp({
    idempotency: { leaseMs: 100, maxRunMs: 100 },
    handler: (req, res) => {
      if (req.idempotency !== undefined) signals.push(req.idempotency.signal);
      res.json({});
    },
  });
  for (let round = 0; round < 10; round += 1) await pay(shop, `key-${round}`);
  await sleep(200);
  expect(signals.map(({ aborted }) => aborted)).toEqual(Array.from({ length: 10 }, () => false));
  expect(shop.runs()).toBe(10);
});

test("C54: on a full Redis a claim fails with 503, and what runs keeps its lease, commits and is stored", async () => {
  const server = await faultyServer(["--maxmemory-policy", "noeviction"]);
  const gate = new Gate();
  let signal: AbortSignal | undefined;
  const shop = await idempotencyApp({
    idempotency: { leaseMs: 200, client: clientOf(server) },
    handler: async (req, res) => {
      signal = req.idempotency?.signal;
      await gate.pass();
      await req.idempotency?.commit();
      res.json({ run: 1 });
    },
  });
  const first = pay(shop, "key-1");
  await gate.arrived;
  await server.root.config("SET", "maxmemory", "1");
  expect((await pay(shop, "key-2")).status).toBe(503);
  await sleep(500);
  expect([(await pay(shop, "key-1")).text, signal?.aborted]).toEqual([IN_PROGRESS, false]);
  gate.open();
  expect((await first).text).toBe('{"run":1}');
  expect((await pay(shop, "key-1")).text).toBe('{"run":1,"replayed":true}');
  expect(shop.runs()).toBe(1);
});
