import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { idempotency } from "../../src/index.js";
import { sleep } from "../support/app.js";
import type { Page } from "../support/browser.js";
import { connect, freshDatabase } from "../support/clients.js";
import { idempotencyApp, pay } from "../support/idempotency-app.js";
import { RANDOM, rounds } from "../support/jitter.js";
import { startWorker } from "../support/worker-process.js";

const IN_PROGRESS = '{"error":"idempotency_in_progress"}';

/** One ran; the others were told to retry or got its answer. */
function expectOneRun(pages: readonly Page[]): void {
  const firsts = pages.filter(({ status, headers }) => status === 201 && !headers.has("idempotency-replayed"));
  expect(firsts).toHaveLength(1);
  for (const page of pages) {
    if (page === firsts[0]) continue;
    if (page.status === 409) {
      expect([page.text, page.headers.get("retry-after")]).toEqual([IN_PROGRESS, "5"]);
    } else {
      expect(page.status).toBe(201);
      expect(page.json()).toEqual({ ...firsts[0]?.json(), replayed: true });
    }
  }
}

test(
  "C51, R-I4: 20 parallel requests with one key over two servers, many rounds: one run each",
  async () => {
    const { port, db } = await freshDatabase();
    const clients = [connect(port, { db }), connect(port, { db })] as const;
    onTestFinished(() => clients.forEach((client) => void client.disconnect()));
    let runs = 0;
    const [one, other] = await Promise.all(
      clients.map((client) =>
        idempotencyApp({
          idempotency: { client: client as never },
          handler: async (_req, res) => {
            runs += 1;
            const run = runs;
            await new Promise((resolve) => setTimeout(resolve, Math.random() * 10));
            res.status(201).json({ run });
          },
        }),
      ),
    );
    if (one === undefined || other === undefined) throw new Error("two servers were asked for");
    const count = await rounds(160, 2, async (round) => {
      const sent = Array.from({ length: 20 }, (_, at) => pay(at % 2 === 0 ? one : other, `key-${round}`));
      expectOneRun(await Promise.all(sent));
      const last = await pay(round % 2 === 0 ? one : other, `key-${round}`);
      expect([last.status, last.json()["replayed"]]).toEqual([201, true]);
    });
    expect([runs, one.runs() + other.runs()]).toEqual([count, count]);
  },
  RANDOM.timeout,
);

test("C51, C53: processes: 20 parallel requests run once; kill -9 is refused for a lease, then run once more or, after commit(), never", async () => {
  const leaseMs = 500;
  const database = await freshDatabase();
  const client = new Redis(database.port, "127.0.0.1", { db: database.db });
  onTestFinished(() => client.disconnect());
  const starting = [1, 2].map(() => startWorker("idempotency-worker.ts", database, { LEASE_MS: String(leaseMs) }));
  const [victim, survivor] = await Promise.all(starting);
  if (victim === undefined || survivor === undefined) throw new Error("two processes were asked for");
  const runs = async (): Promise<number> => Number(await client.get("handler:runs"));

  const { length } = Array.from({ length: 5 });
  for (let round = 0; round < length; round += 1) {
    const sent = Array.from({ length: 20 }, (_, at) =>
      pay(at % 2 === 0 ? victim : survivor, `key-${round}`, { workMs: 30 }),
    );
    const pages = await Promise.all(sent);
    expect(pages.filter(({ status, headers }) => status === 201 && !headers.has("idempotency-replayed"))).toHaveLength(
      1,
    );
    expect(new Set(pages.map(({ status }) => status))).toEqual(new Set([201, 409]));
    expect(await runs()).toBe(round + 1);
    expect((await pay(survivor, `key-${round}`, { workMs: 30 })).json()["replayed"]).toBe(true);
  }

  // Two requests are at work in the process that is killed: one before its commit, one after.
  const bodies = { before: { workMs: 60 }, after: { workMs: 60, commits: true } } as const;
  const slow = (name: keyof typeof bodies) => ({ ...bodies[name], note: "x" });
  await client.set("handler:runs", "0");
  const lost = (["before", "after"] as const).map((key) => pay(victim, key, { ...slow(key), workMs: 60_000 }));
  for (const request of lost) request.catch(() => undefined);
  await expect.poll(runs).toBe(2);
  await victim.kill();
  const killedAtMs = performance.now();
  const retry = (key: keyof typeof bodies) => pay(survivor, key, { ...slow(key), workMs: 60_000 });
  for (const key of ["before", "after"] as const) {
    const page = await retry(key);
    expect([page.status, page.text]).toEqual([409, IN_PROGRESS]);
  }
  await expect
    .poll(async () => (await retry("after")).text, { interval: 50, timeout: 3_000 })
    .toBe('{"error":"outcome_unknown"}');
  expect(performance.now() - killedAtMs).toBeLessThan(leaseMs + 1_500);
  expect(await runs()).toBe(2);
  // The next one runs, once, however many come; it would take a minute.
  const second = retry("before");
  second.catch(() => undefined);
  await expect.poll(runs).toBe(3);
  for (let round = 0; round < 5; round += 1) {
    expect((await retry("before")).text).toBe(IN_PROGRESS);
    expect((await retry("after")).text).toBe('{"error":"outcome_unknown"}');
  }
  const records = await client.keys("idempotency:*");
  const attempts = await Promise.all(records.map((record) => client.hget(record, "attempt")));
  expect([await runs(), attempts.filter((attempt) => attempt === "2").length]).toEqual([3, 1]);
}, 60_000);

test('C53: onCrash: "refuse" runs nothing again, also what had not committed', async () => {
  const shop = await idempotencyApp({
    idempotency: { leaseMs: 150, onCrash: "refuse" },
    handler: (_req, res) => void res.destroy(),
  });
  await expect(pay(shop, "key-1")).rejects.toThrow();
  expect((await pay(shop, "key-1")).text).toBe(IN_PROGRESS);
  await sleep(200);
  expect((await pay(shop, "key-1")).text).toBe('{"error":"outcome_unknown"}');
  expect(shop.runs()).toBe(1);
});

const WRONG: readonly [name: string, value: unknown, message: RegExp][] = [
  ["ttlMs", 0, /ttlMs: expected an integer number of milliseconds from 1 to 2592000000, got 0/],
  ["ttlMs", 2_592_000_001, /ttlMs: /],
  ["ttlMs", "1", /ttlMs: .* got a string/],
  ["ttlMs", Number.NaN, /ttlMs: /],
  ["leaseMs", 99, /leaseMs: .*from 100 to 3600000/],
  ["maxRunMs", 99, /maxRunMs: .*from 100 to 86400000/],
  ["waitMs", -1, /waitMs: .*from 0 to 60000/],
  ["waitMs", 1.5, /waitMs: /],
  ["maxBodyBytes", -1, /maxBodyBytes: .* bytes from 0 to 67108864/],
  ["commandTimeoutMs", 0, /commandTimeoutMs: /],
  ["required", "yes", /required: expected true or false, got a string/],
  ["failOpen", 1, /failOpen: expected true or false/],
  ["failOpen", true, /failOpen: only with required: false/],
  ["methods", [], /methods: /],
  ["methods", ["post"], /methods: /],
  ["methods", ["GET"], /methods: /],
  ["methods", "POST", /methods: /],
  ["scope", "user", /scope: expected a function, got a string/],
  ["key", {}, /key: expected a function/],
  ["fingerprint", true, /fingerprint: expected a function/],
  ["keep", [500], /keep: expected a function, got an array/],
  ["onRefused", "x", /onRefused: expected a function/],
  ["onCrash", "retry", /onCrash: expected "rerun" or "refuse", got a string/],
  ["replayHeaders", "X-A", /replayHeaders: expected a list/],
  ["replayHeaders", ["X A"], /replayHeaders: expected a list/],
  ["replayHeaders", ["set-cookie"], /replayHeaders: set-cookie belongs to one request/],
  ["replayHeaders", ["Access-Control-Allow-Origin"], /never replayed/],
  ["keyPrefix", "", /keyPrefix: expected a non-empty string/],
  ["client", undefined, /client/],
  ["ttl", 5, /unknown option "ttl"; known are client, ttlMs/],
];

test.each(WRONG)("misuse: idempotency({ %s: %j }) is a TypeError at once", async (name, value, message) => {
  const { client } = await idempotencyApp();
  const act = (): unknown => idempotency({ client, [name]: value } as never);
  expect(act).toThrow(TypeError);
  expect(act).toThrow(message);
});

test("misuse: no options, null, a list", () => {
  for (const options of [undefined, null, []]) expect(() => idempotency(options as never)).toThrow(TypeError);
});
