import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { GenerationStore, type RedisClient } from "../../src/index.js";
import { escapedFrom } from "../support/process-failures.js";
import { proxiedClient } from "../support/proxied-app.js";
import { freePort } from "../support/redis-server.js";
import { signedCookie } from "../support/signed-cookie.js";

const TIMEOUT_MS = 250;

/** Everything that asks Redis, without a request around it. */
const OPERATIONS: Record<string, (store: GenerationStore) => Promise<unknown>> = {
  get: (store) => store.get("sid"),
  set: (store) => store.set("sid", { cookie: {} } as never),
  touch: (store) => store.touch("sid", { cookie: { originalMaxAge: 1_000 } } as never),
  destroy: (store) => store.destroy("sid"),
  all: (store) => store.all(),
  ids: (store) => store.ids(),
  length: (store) => store.length(),
  clear: (store) => store.clear(),
  beginLogin: (store) => store.beginLogin("mira"),
  logoutEverywhere: (store) => store.logoutEverywhere("mira"),
  "logoutEverywhere with replicas": (store) => store.logoutEverywhere("mira", { replicas: 1, timeoutMs: 50 }),
  isCurrent: (store) => store.isCurrent({ userId: "mira", generation: "1" }),
  generation: (store) => store.generation("mira"),
  readRequest: (store) => store.readRequest(signedCookie("sid"), { secret: "test secret" }),
};

interface Failure {
  readonly name: string;
  readonly status: unknown;
  readonly code: unknown;
  readonly tookMs: number;
}

/** Runs all of them at once; none may succeed. */
async function failAll(client: RedisClient): Promise<Failure[]> {
  const store = new GenerationStore({ client, commandTimeoutMs: TIMEOUT_MS });
  onTestFinished(() => store.close());
  const startedAtMs = performance.now();
  const failing = Object.entries(OPERATIONS).map(async ([name, run]): Promise<Failure> => {
    try {
      await run(store);
    } catch (error) {
      const { status, code } = error as { status?: unknown; code?: unknown };
      return { name, status, code, tookMs: performance.now() - startedAtMs };
    }
    throw new Error(`${name} succeeded`);
  });
  return await Promise.all(failing);
}

function expectCoded(failures: readonly Failure[], code: string): void {
  for (const failure of failures) {
    const expected = failure.name.startsWith("logout") ? "ERR_LOGOUT_UNCONFIRMED" : code;
    expect([failure.name, failure.status, failure.code]).toEqual([failure.name, 503, expected]);
    expect(failure.tookMs, failure.name).toBeLessThan(TIMEOUT_MS + 500);
  }
}

async function withoutEscapes(act: () => Promise<void>): Promise<void> {
  expect(await escapedFrom(act)).toEqual({ exceptions: [], rejections: [] });
}

test("G7: nobody listens on the port", async () => {
  const port = await freePort();
  await withoutEscapes(async () => {
    const client = new Redis(port, "127.0.0.1");
    client.on("error", () => undefined);
    onTestFinished(() => client.disconnect());
    expectCoded(await failAll(client as unknown as RedisClient), "ERR_REDIS_UNAVAILABLE");
  });
});

test("G7: nobody listens, and the client connects lazily", async () => {
  const client = new Redis(await freePort(), "127.0.0.1", { lazyConnect: true });
  client.on("error", () => undefined);
  onTestFinished(() => client.disconnect());
  await withoutEscapes(async () => {
    expectCoded(await failAll(client as unknown as RedisClient), "ERR_REDIS_UNAVAILABLE");
  });
});

test("G7: connections are taken, and nothing is ever answered", async () => {
  const { proxy, proxied } = await proxiedClient();
  await proxied.ping();
  proxy.stall();
  await withoutEscapes(async () => expectCoded(await failAll(proxied), "ERR_REDIS_TIMEOUT"));
  proxy.resume();
  await expect.poll(() => proxied.ping().catch(() => ""), { timeout: 3_000 }).toBe("PONG");
});

test("G7: connecting itself hangs", async () => {
  const { proxy, proxied } = await proxiedClient({ lazyConnect: true });
  proxy.stall();
  await withoutEscapes(async () => expectCoded(await failAll(proxied), "ERR_REDIS_UNAVAILABLE"));
});

test("G7: a client that was closed is an error at once", async () => {
  const { proxied } = await proxiedClient();
  await proxied.quit();
  const failures = await failAll(proxied);
  expectCoded(failures, "ERR_REDIS_UNAVAILABLE");
  expect(Math.max(...failures.map(({ tookMs }) => tookMs))).toBeLessThan(TIMEOUT_MS);
});

test("G7: a client that gives up while it is waited for is an error then, not at the deadline", async () => {
  const client = new Redis(await freePort(), "127.0.0.1", { retryStrategy: (times) => (times > 2 ? null : 20) });
  client.on("error", () => undefined);
  const store = new GenerationStore({ client: client as unknown as RedisClient, commandTimeoutMs: 10_000 });
  const startedAtMs = performance.now();
  await expect(store.get("sid")).rejects.toMatchObject({ code: "ERR_REDIS_UNAVAILABLE", outcome: "not-sent" });
  expect(performance.now() - startedAtMs).toBeLessThan(2_000);
});

test("G7: replies that come too late are timeouts, and slow ones in time are none", async () => {
  const { proxy, proxied, client } = await proxiedClient();
  await proxied.ping();
  proxy.delayReplies(TIMEOUT_MS + 150);
  await withoutEscapes(async () => expectCoded(await failAll(proxied), "ERR_REDIS_TIMEOUT"));
  // Replies still on their way with the long delay must not be overtaken by later ones.
  await new Promise((resolve) => setTimeout(resolve, TIMEOUT_MS + 500));
  // What had been sent in time took effect in Redis: unconfirmed is not undone.
  proxy.delayReplies(20);
  const store = new GenerationStore({ client: proxied, commandTimeoutMs: 2_000 });
  const { generation } = await store.logoutEverywhere("mira");
  expect(await client.get("user_login_age:mira")).toBe(generation);
});
