import { expect, test } from "vitest";
import { sleep } from "../support/app.js";
import type { Page } from "../support/browser.js";
import { Gate } from "../support/gate.js";
import { idempotencyApp, pay } from "../support/idempotency-app.js";

const REQUIRED = '{"error":"idempotency_key_required"}';

for (const [name, key] of Object.entries({
  missing: undefined,
  empty: "",
  spaces: "   ",
  tabs: " \t ",
  quoted: '""',
})) {
  test(`R-I1: a key that is ${name} is refused with 400, and the handler does not run`, async () => {
    const shop = await idempotencyApp();
    const page = await pay(shop, key);
    expect([page.status, page.text, shop.runs()]).toEqual([400, REQUIRED, 0]);
    expect(page.headers.get("cache-control")).toBe("private, no-store");
    expect(await shop.client.keys("*")).toEqual([]);
  });
}

test("R-I1: where it is not required, a request without a key runs each time; a blank key is refused all the same", async () => {
  const shop = await idempotencyApp({ idempotency: { required: false } });
  expect((await pay(shop, undefined)).json()).toEqual({ id: 1, amount: 5 });
  expect((await pay(shop, undefined)).json()).toEqual({ id: 2, amount: 5 });
  expect((await pay(shop, " ")).text).toBe(REQUIRED);
  expect((await pay(shop, "key-1")).json()).toEqual({ id: 3, amount: 5 });
  expect((await pay(shop, "key-1")).json()).toEqual({ id: 3, amount: 5, replayed: true });
  expect(shop.runs()).toBe(3);
});

for (const status of [200, 201, 202, 400, 404, 409, 422]) {
  test(`R-I2: a first answer of ${status} is given again as ${status}, with its body and "replayed": true`, async () => {
    const shop = await idempotencyApp({
      handler: (req, res) => void res.status(status).json({ got: req.body.amount }),
    });
    const first = await pay(shop, "key-1");
    expect([first.status, first.text, first.headers.get("idempotency-replayed")]).toEqual([status, '{"got":5}', null]);
    const again = await pay(shop, "key-1");
    expect([again.status, again.text]).toEqual([status, '{"got":5,"replayed":true}']);
    expect(shop.runs()).toBe(1);
  });
}

test("R-I2: the answer is in Redis before the client has it", async () => {
  const shop = await idempotencyApp();
  for (let round = 0; round < 20; round += 1) {
    await pay(shop, `key-${round}`);
    const states = await Promise.all(
      (await shop.client.keys("idempotency:*")).map((key) => shop.client.hget(key, "state")),
    );
    expect(states).toEqual(Array.from({ length: round + 1 }, () => "done"));
  }
  expect(shop.runs()).toBe(20);
});

test("R-I3, R-I8: once its time is over a key is processed anew; ten replays and a takeover do not extend it", async () => {
  const shop = await idempotencyApp({ idempotency: { ttlMs: 700 } });
  await pay(shop, "key-1");
  const [record = ""] = await shop.client.keys("idempotency:*");
  let leftMs = await shop.client.pttl(record);
  expect(leftMs).toBeGreaterThan(0);
  for (let round = 0; round < 10; round += 1) {
    expect((await pay(shop, "key-1")).json()).toEqual({ id: 1, amount: 5, replayed: true });
    const nowMs = await shop.client.pttl(record);
    expect(nowMs).toBeLessThanOrEqual(leftMs);
    leftMs = nowMs;
  }
  await sleep(leftMs + 5);
  const later = await pay(shop, "key-1");
  expect([later.status, later.text, later.headers.get("idempotency-replayed")]).toEqual([
    201,
    '{"id":2,"amount":5}',
    null,
  ]);
  expect(shop.runs()).toBe(2);
});

test("R-I3: a key lives for 24 hours unless the options say otherwise, counted from its first request", async () => {
  const shop = await idempotencyApp();
  const gate = new Gate();
  const slow = await idempotencyApp({ handler: (_req, res) => void gate.pass().then(() => res.json({})) });
  await pay(shop, "key-1");
  const sent = pay(slow, "key-1");
  await gate.arrived;
  for (const { client } of [shop, slow]) {
    const [record = ""] = await client.keys("idempotency:*");
    const ttlMs = await client.pttl(record);
    expect(ttlMs).toBeGreaterThan(86_390_000);
    expect(ttlMs).toBeLessThanOrEqual(86_400_000);
  }
  gate.open();
  expect((await sent).status).toBe(200);
  expect([shop.runs(), slow.runs()]).toEqual([1, 1]);
});

test("R-I4: of two concurrent requests one runs; the other is told to retry, and then gets the stored answer", async () => {
  const gate = new Gate();
  const shop = await idempotencyApp({
    handler: (_req, res) => void gate.pass().then(() => res.status(201).json({ id: 1 })),
  });
  const first = pay(shop, "key-1");
  await gate.arrived;
  const second = await pay(shop, "key-1");
  expect([second.status, second.text]).toEqual([409, '{"error":"idempotency_in_progress"}']);
  expect(second.headers.get("retry-after")).toMatch(/^[1-5]$/);
  gate.open();
  expect([(await first).status, (await first).text]).toEqual([201, '{"id":1}']);
  const third = await pay(shop, "key-1");
  expect([third.status, third.text]).toEqual([201, '{"id":1,"replayed":true}']);
  expect(shop.runs()).toBe(1);
});

test("R-I4: with waitMs the other waits for the stored answer; after that time it is told to retry", async () => {
  const gate = new Gate();
  const shop = await idempotencyApp({
    idempotency: { waitMs: 5_000 },
    handler: (_req, res) => void gate.pass().then(() => res.status(201).json({ id: 1 })),
  });
  const first = pay(shop, "key-1");
  await gate.arrived;
  const others = [pay(shop, "key-1"), pay(shop, "key-1")];
  await expect(Promise.race([...others, sleep(120).then(() => "waiting")])).resolves.toBe("waiting");
  gate.open();
  const texts = (await Promise.all([first, ...others])).map(({ status, text }: Page) => `${status} ${text}`);
  expect(texts).toEqual(['201 {"id":1}', '201 {"id":1,"replayed":true}', '201 {"id":1,"replayed":true}']);
  expect(shop.runs()).toBe(1);

  const stuck = new Gate();
  const short = await idempotencyApp({
    idempotency: { waitMs: 150 },
    handler: (_req, res) => void stuck.pass().then(() => res.json({})),
  });
  const running = pay(short, "key-1");
  await stuck.arrived;
  expect((await pay(short, "key-1")).text).toBe('{"error":"idempotency_in_progress"}');
  stuck.open();
  expect([(await running).status, short.runs()]).toEqual([200, 1]);
});

test("R-I2, R-I8, R-I5: ten repeats of a payment leave one, with the first answer marked as replayed", async () => {
  const shop = await idempotencyApp();
  const first = await pay(shop, "key-1", { amount: 5 });
  expect(first.status).toBe(201);
  expect(first.json()).toEqual({ id: 1, amount: 5 });
  for (let round = 0; round < 10; round += 1) {
    const again = await pay(shop, "key-1", { amount: 5 });
    expect(again.status).toBe(201);
    expect(again.text).toBe('{"id":1,"amount":5,"replayed":true}');
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(again.headers.get("cache-control")).toBe("private, no-store");
    expect(again.headers.get("content-length")).toBe(String(again.text.length));
  }
  expect(shop.runs()).toBe(1);
});

test("R-I6: 255 characters are a key, 256 are not; what is quoted counts without its quotes", async () => {
  const shop = await idempotencyApp();
  const tooLong = '{"error":"idempotency_key_too_long"}';
  for (const key of ["k".repeat(256), `"${"k".repeat(256)}"`, `"${"\\\\".repeat(256)}"`, "k".repeat(10_000)]) {
    const page = await pay(shop, key);
    expect([page.status, page.text]).toEqual([400, tooLong]);
  }
  expect([shop.runs(), await shop.client.keys("*")]).toEqual([0, []]);
  expect((await pay(shop, "k".repeat(255))).json()).toEqual({ id: 1, amount: 5 });
  expect((await pay(shop, `"${"k".repeat(255)}"`)).json()).toEqual({ id: 1, amount: 5, replayed: true });
  expect((await pay(shop, `"${"\\\\".repeat(255)}"`)).json()).toEqual({ id: 2, amount: 5 });
  expect(shop.runs()).toBe(2);
});
