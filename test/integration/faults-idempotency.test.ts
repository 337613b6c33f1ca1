import type { RequestHandler } from "express";
import { expect, test } from "vitest";
import { claimKey } from "../../src/idempotency/scripts/claim-key.js";
import { completeKey } from "../../src/idempotency/scripts/complete-key.js";
import { renewLease } from "../../src/idempotency/scripts/renew-lease.js";
import { sleep } from "../support/app.js";
import { runs } from "../support/commands.js";
import { clientOf, faultyServer } from "../support/faulty-server.js";
import { Gate } from "../support/gate.js";
import { type IdempotencyApp, idempotencyApp, pay } from "../support/idempotency-app.js";
import { proxiedClient } from "../support/proxied-app.js";
import { eventually } from "../support/records.js";

const [FIRST, AGAIN] = ['{"id":1,"amount":5}', '{"id":1,"amount":5,"replayed":true}'];

async function text(shop: IdempotencyApp, key = "key-1"): Promise<string> {
  const page = await pay(shop, key);
  return `${page.status} ${page.text}`;
}

for (const isResent of [true, false]) {
  for (const fault of ["cutAfter", "cutBefore"] as const) {
    for (const [name, script] of [
      ["claim", claimKey],
      ["completion", completeKey],
      ["commit", renewLease],
    ] as const) {
      test(`R-I4: a broken connection at the ${name} (${fault}, autoResendUnfulfilledCommands: ${isResent}): one run, one answer`, async () => {
        const { proxy, proxied, client } = await proxiedClient({ autoResendUnfulfilledCommands: isResent });
        const shop = await idempotencyApp({
          store: { client },
          idempotency: { client: proxied },
          handler: async (req, res) => {
            await req.idempotency?.commit();
            res.status(201).json({ id: shop.runs(), amount: 5 });
          },
        });
        await pay(shop, "warm-up");
        const happened = proxy[fault](runs(script));
        expect(await text(shop)).toBe('201 {"id":2,"amount":5}');
        await happened;
        expect(await text(shop)).toBe('201 {"id":2,"amount":5,"replayed":true}');
        expect(shop.runs()).toBe(2);
      });
    }
  }
}

test("R-I4: Redis hangs at the claim: 503, the handler does not run, and the key is good after it", async () => {
  const { proxy, proxied, client } = await proxiedClient();
  const shop = await idempotencyApp({ store: { client }, idempotency: { client: proxied, commandTimeoutMs: 200 } });
  await pay(shop, "warm-up");
  proxy.stall();
  expect([await text(shop), shop.runs()]).toEqual(['503 {"code":"ERR_REDIS_TIMEOUT"}', 1]);
  proxy.resume();
  await expect.poll(() => text(shop), { timeout: 3_000 }).toBe('201 {"id":2,"amount":5}');
  expect([await text(shop), shop.runs()]).toEqual(['201 {"id":2,"amount":5,"replayed":true}', 2]);
});

test("R-I4: the claim took effect and Redis hung before the reply: 503, and the key is free long before its lease is over", async () => {
  const { proxy, proxied, client } = await proxiedClient();
  const shop = await idempotencyApp({ store: { client }, idempotency: { client: proxied, commandTimeoutMs: 300 } });
  await pay(shop, "warm-up");
  const held = proxy.hold(runs(claimKey));
  expect((await pay(shop, "key-1")).status).toBe(503);
  await held;
  expect(shop.runs()).toBe(1);
  proxy.release();
  await expect.poll(() => text(shop), { timeout: 5_000 }).toBe('201 {"id":2,"amount":5}');
  expect(shop.runs()).toBe(2);
});

for (const isCommitting of [true, false]) {
  test(`R-I2: Redis away when the handler ends ${isCommitting ? "after" : "without"} commit(): the client gets the answer, a repeat gets it once Redis is back`, async () => {
    const { proxy, proxied, client } = await proxiedClient();
    const gate = new Gate();
    const shop = await idempotencyApp({
      store: { client },
      idempotency: { client: proxied, commandTimeoutMs: 200 },
      handler: async (req, res) => {
        if (isCommitting) await req.idempotency?.commit();
        await gate.pass();
        res.status(201).json({ id: shop.runs(), amount: 5 });
      },
    });
    const first = pay(shop, "key-1");
    await gate.arrived;
    proxy.stall();
    gate.open();
    expect((await first).text).toBe(FIRST);
    expect((await pay(shop, "key-1")).status).toBe(503);
    await sleep(500);
    proxy.resume();
    // In progress for whoever comes before the answer has been stored.
    await expect.poll(() => text(shop), { timeout: 5_000 }).toBe(`201 ${AGAIN}`);
    expect(shop.runs()).toBe(1);
  });
}

test("R-I2: Redis away for longer than the lease at the end of a committed run: never a second run", async () => {
  const { proxy, proxied, client } = await proxiedClient();
  const gate = new Gate();
  const options = { leaseMs: 150, commandTimeoutMs: 200 };
  const handler: RequestHandler = async (req, res) => {
    await req.idempotency?.commit();
    await gate.pass();
    res.status(201).json({ id: 1, amount: 5 });
  };
  const shop = await idempotencyApp({ store: { client }, idempotency: { ...options, client: proxied }, handler });
  const other = await idempotencyApp({ store: { client }, idempotency: { ...options, client }, handler });
  const first = pay(shop, "key-1");
  await gate.arrived;
  proxy.stall();
  gate.open();
  expect((await first).text).toBe(FIRST);
  await sleep(300);
  expect(await text(other)).toBe('409 {"error":"outcome_unknown"}');
  proxy.resume();
  await expect.poll(() => text(other), { timeout: 5_000 }).toBe(`201 ${AGAIN}`);
  expect([shop.runs(), other.runs()]).toEqual([1, 0]);
});

test("C54: Redis away for longer than the lease while a handler runs: its signal is aborted, and it does not overwrite the next", async () => {
  const { proxy, proxied, client } = await proxiedClient();
  const gate = new Gate();
  let signal: AbortSignal | undefined;
  const options = { leaseMs: 300, commandTimeoutMs: 200 };
  const shop = await idempotencyApp({
    store: { client },
    idempotency: { ...options, client: proxied },
    handler: async (req, res) => {
      signal = req.idempotency?.signal;
      await gate.pass();
      await req.idempotency?.commit();
      res.json({ by: "late" });
    },
  });
  const other = await idempotencyApp({
    store: { client },
    idempotency: { ...options, client },
    handler: (req, res) => void res.json({ by: req.idempotency?.attempt }),
  });
  const first = pay(shop, "key-1");
  await gate.arrived;
  proxy.stall();
  expect(await eventually(async () => signal?.aborted === true)).toBe(true);
  await expect.poll(() => text(other), { interval: 30 }).toBe('200 {"by":2}');
  proxy.resume();
  await proxied.ping();
  gate.open();
  expect((await first).status).toBe(409);
  await sleep(1_200);
  expect(await text(other)).toBe('200 {"by":2,"replayed":true}');
  expect([shop.runs(), other.runs()]).toEqual([1, 1]);
});

test("C54: Redis away for a while, shorter than the lease: nobody else runs, and the answer is stored", async () => {
  const { proxy, proxied, client } = await proxiedClient();
  const gate = new Gate();
  const shop = await idempotencyApp({
    store: { client },
    idempotency: { client: proxied, leaseMs: 1_500, commandTimeoutMs: 200 },
    handler: async (_req, res) => {
      await gate.pass();
      res.status(201).json({ id: 1, amount: 5 });
    },
  });
  const first = pay(shop, "key-1");
  await gate.arrived;
  proxy.stall();
  await sleep(600);
  proxy.resume();
  await expect.poll(() => text(shop), { timeout: 1_000 }).toBe('409 {"error":"idempotency_in_progress"}');
  await sleep(1_200);
  expect(await text(shop)).toBe('409 {"error":"idempotency_in_progress"}');
  gate.open();
  expect((await first).text).toBe(FIRST);
  expect([await text(shop), shop.runs()]).toEqual([`201 ${AGAIN}`, 1]);
});

test("R-I4: commit() fails while Redis is away: nothing is done, and the key runs again once it is back", async () => {
  const { proxy, proxied, client } = await proxiedClient();
  const gate = new Gate();
  let effects = 0;
  const shop = await idempotencyApp({
    store: { client },
    idempotency: { client: proxied, commandTimeoutMs: 200 },
    handler: async (req, res) => {
      await gate.pass();
      await req.idempotency?.commit();
      effects += 1;
      res.status(201).json({ id: effects, amount: 5 });
    },
  });
  const first = pay(shop, "key-1");
  await gate.arrived;
  // It takes effect, and nobody hears of it: only the run itself knows that nothing was done.
  const held = proxy.hold((words) => runs(renewLease)(words) && words.includes("1"));
  gate.open();
  expect([(await first).status, effects]).toEqual([503, 0]);
  await held;
  proxy.release();
  await expect.poll(() => text(shop), { timeout: 5_000 }).toBe(`201 ${FIRST}`);
  expect([shop.runs(), effects]).toEqual([2, 1]);
});

test("R-I4: SCRIPT FLUSH changes nothing, also while a handler runs", async () => {
  const { proxied, client } = await proxiedClient();
  const shop = await idempotencyApp({
    idempotency: { client: proxied, leaseMs: 100 },
    handler: async (req, res) => {
      await client.script("FLUSH");
      await sleep(200);
      await client.script("FLUSH");
      await req.idempotency?.commit();
      await client.script("FLUSH");
      res.status(201).json({ id: shop.runs(), amount: 5 });
    },
  });
  expect([await text(shop), await text(shop), shop.runs()]).toEqual([`201 ${FIRST}`, `201 ${AGAIN}`, 1]);
});

test("R-I4: Redis loses everything while a handler runs: its answer arrives, and no record without an end is left", async () => {
  const gate = new Gate();
  const shop = await idempotencyApp({
    handler: (_req, res) => void gate.pass().then(() => res.status(201).json({ id: 1, amount: 5 })),
  });
  const first = pay(shop, "key-1");
  await gate.arrived;
  await shop.client.flushdb();
  gate.open();
  expect([(await first).text, await shop.client.keys("*")]).toEqual([FIRST, []]);
  expect(shop.runs()).toBe(1);
});

test("R-I4: on a full Redis new keys get 503, old ones their answers", async () => {
  const server = await faultyServer(["--maxmemory-policy", "noeviction"]);
  const shop = await idempotencyApp({ idempotency: { client: clientOf(server) } });
  expect(await text(shop)).toBe(`201 ${FIRST}`);
  await server.root.config("SET", "maxmemory", "1");
  expect([await text(shop), await text(shop, "key-2")]).toEqual([`201 ${AGAIN}`, '503 {"code":"ERR_REDIS_REPLY"}']);
  await server.root.config("SET", "maxmemory", "0");
  expect([await text(shop, "key-2"), shop.runs()]).toEqual(['201 {"id":2,"amount":5}', 2]);
});

const CORRUPT: Record<string, readonly (readonly [command: string, ...args: string[]])[]> = {
  "a string": [["DEL"], ["SET", "garbage"]],
  "a list": [["DEL"], ["RPUSH", "garbage"]],
  "no fields of ours": [["DEL"], ["HSET", "a", "b"]],
  "no state": [["HDEL", "state"]],
  "another state": [["HSET", "state", "paused", "lease", "1", "attempt", "1"]],
  "no owner": [["HDEL", "owner"]],
  "no answer": [["HDEL", "response"]],
  "an answer that is no JSON": [["HSET", "response", "garbage"]],
  "an answer that is null": [["HSET", "response", "null"]],
  "an answer with another status": [["HSET", "response", '{"status":7,"headers":[],"text":""}']],
  "an answer with other headers": [["HSET", "response", '{"status":200,"headers":[1,["a"]],"text":""}']],
  "a header of no text": [["HSET", "response", '{"status":200,"headers":[["Link",[1]]],"text":""}']],
  "no lease": [
    ["HSET", "state", "running"],
    ["HDEL", "lease"],
  ],
  "a lease of garbage": [["HSET", "state", "running", "lease", "soon"]],
  "a count of garbage": [["HSET", "state", "running", "lease", "1", "attempt", "many"]],
};

test.each(Object.entries(CORRUPT))(
  "a corrupt record (%s) is 503, the handler does not run, and nothing is written",
  async (_name, commands) => {
    const shop = await idempotencyApp();
    await pay(shop, "key-1");
    const [record = ""] = await shop.client.keys("idempotency:*");
    for (const [command, ...args] of commands) await shop.client.call(command, record, ...args);
    // A hash lists its fields in any order.
    const content = async (): Promise<unknown> => {
      const isHash = (await shop.client.type(record)) === "hash";
      return isHash ? await shop.client.hgetall(record) : await shop.client.dump(record);
    };
    const before = await content();
    for (let round = 0; round < 2; round += 1) expect(await text(shop)).toBe('503 {"code":"ERR_REDIS_REPLY"}');
    expect([await content(), shop.runs()]).toEqual([before, 1]);
  },
);

test("failOpen runs requests unguarded while Redis cannot be asked, and guards again after", async () => {
  const { proxy, proxied, client } = await proxiedClient();
  const shop = await idempotencyApp({
    store: { client },
    idempotency: { client: proxied, required: false, failOpen: true, commandTimeoutMs: 150 },
  });
  proxy.stall();
  expect([await text(shop), await text(shop)]).toEqual([`201 ${FIRST}`, '201 {"id":2,"amount":5}']);
  proxy.resume();
  await expect
    .poll(async () => (await pay(shop, "key-2")).headers.get("idempotency-replayed"), { timeout: 3_000 })
    .toBe("true");
  const before = shop.runs();
  await pay(shop, "key-2");
  expect(shop.runs()).toBe(before);
});
