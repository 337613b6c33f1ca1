import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { BUILD_TIMEOUT_MS } from "../support/build.js";
import { type ExampleApp, freshRedisUrl, isSignInPage, startExampleApp } from "../support/example-app.js";
import { expectPlainError, PAYMENT, pay, paymentsOf } from "../support/payments.js";

describe.each(["the embedded store", "Redis"])("payments on %s", (place) => {
  let shop: ExampleApp;

  beforeAll(async () => {
    shop = await startExampleApp(place === "Redis" ? { REDIS_URL: (await freshRedisUrl()).url } : {});
  }, BUILD_TIMEOUT_MS);
  afterAll(() => shop?.stop());

  test("R-I8: a replay is recognisable: by its header, its body, and on the page", async () => {
    const alice = await shop.signedIn("alice");
    const [first, again] = [await pay(shop, alice, "one"), await pay(shop, alice, '"one"')];
    expect([first.status, first.json["replayed"], first.headers.get("idempotency-replayed")]).toEqual([
      201,
      undefined,
      null,
    ]);
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
    expect(again.json).toEqual({ ...first.json, replayed: true });
    expect(await paymentsOf(alice)).toEqual([first.json]);
    const { text } = await alice.get("/payments", { accept: "text/html" });
    expect(text.match(/<td>201, [^<]*/g)).toEqual(["<td>201, the first answer again", "<td>201, paid"]);
    const page = await alice.get(first.headers.get("location") ?? "", { accept: "text/html" });
    expect(page.text).toContain("1 × EUR 12.50");
  });

  test("R-I8: amounts are whole cents from 1 to 1 000 000; what was wrong is corrected under the same key", async () => {
    const bob = await shop.signedIn("bob");
    for (const amount of [0, 1_000_001, 1.5, "5", null]) {
      expectPlainError(await pay(shop, bob, "fix", { ...PAYMENT, amount }), 422, "amount_invalid");
    }
    const bounds = [1, 1_000_000];
    for (const amount of bounds) {
      const answer = await pay(shop, bob, `amount-${amount}`, { ...PAYMENT, amount, quantity: 100 });
      expect([answer.status, answer.json["amount"], answer.json["quantity"]]).toEqual([201, amount, 100]);
    }
    expect((await pay(shop, bob, "fix")).json).toMatchObject({ ...PAYMENT, quantity: 1, note: "" });
    expectPlainError(await pay(shop, bob, "fix", { ...PAYMENT, amount: 2 }), 422, "idempotency_key_reused");
    expect((await paymentsOf(bob)).map(({ amount }) => amount)).toEqual([PAYMENT.amount, ...bounds.toReversed()]);
  });

  test("payments are for the one who made them, and strangers are sent to the sign-in page", async () => {
    const [alice, bob] = await Promise.all([shop.signedIn("alice"), shop.signedIn("bob")]);
    const key = randomUUID();
    const path = (await pay(shop, alice, key)).headers.get("location") ?? "";
    expect((await alice.get(path)).status).toBe(200);
    expect((await bob.get(path)).json()).toEqual({ error: "not_found" });
    // The same key of somebody else is another key.
    expect((await pay(shop, bob, key)).json["replayed"]).toBeUndefined();
    for (const address of ["/payments", path]) {
      expect((await shop.browser().get(address)).json()).toEqual({ error: "login_required" });
      const page = await shop.browser().get(address, { accept: "text/html" });
      expect([page.status, isSignInPage(page)]).toEqual([401, true]);
    }
  });
});

/** A shop on a database of its own, on which its payments take a while. */
async function slowShop(delayMs: number): Promise<{ shop: ExampleApp; redis: Redis }> {
  const { url, port, db } = await freshRedisUrl();
  const redis = new Redis({ port, db });
  const shop = await startExampleApp({ REDIS_URL: url, ORDER_DELAY_MS: String(delayMs) });
  onTestFinished(async () => {
    redis.disconnect();
    await shop.stop();
  });
  return { shop, redis };
}

async function recordIn(redis: Redis): Promise<string> {
  const [name = "", ...more] = await redis.keys("idempotency:*");
  expect(more).toEqual([]);
  return name;
}

test("R-I8: an expired key is not replayed, and replays do not extend its day", async () => {
  const { shop, redis } = await slowShop(0);
  const alice = await shop.signedIn("alice");
  await pay(shop, alice, "daily");
  const name = await recordIn(redis);
  expect(Math.abs((await redis.pttl(name)) - 86_400_000)).toBeLessThan(20_000);
  await redis.pexpire(name, 5_000);
  expect((await pay(shop, alice, "daily")).json["replayed"]).toBe(true);
  expect(await redis.pttl(name)).toBeLessThanOrEqual(5_000);
  await redis.pexpire(name, 1);
  await expect.poll(() => redis.exists(name)).toBe(0);
  const anew = await pay(shop, alice, "daily");
  expect([anew.status, anew.json["replayed"]]).toEqual([201, undefined]);
  expect(await paymentsOf(alice)).toHaveLength(2);
});

test("logged out everywhere while paying, the payment is made, and its answer waits for the next login", async () => {
  const { shop, redis } = await slowShop(1_000);
  const [one, other] = await Promise.all([shop.signedIn("bob"), shop.signedIn("bob")]);
  const paying = pay(shop, one, "slow");
  await expect.poll(async () => redis.hget(await recordIn(redis), "committed"), { interval: 10 }).toBe("1");
  expectPlainError(await pay(shop, other, "slow"), 409, "idempotency_in_progress");
  await other.post("/log-out-everywhere");
  expect((await paying).status).toBe(201);
  expectPlainError(await pay(shop, one, "slow"), 401, "login_required");
  const back = await shop.signedIn("bob");
  expect((await pay(shop, back, "slow")).json["replayed"]).toBe(true);
  expect(await paymentsOf(back)).toHaveLength(1);
});
