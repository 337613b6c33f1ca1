import { Redis, type RedisOptions } from "ioredis";
import { Redis as Redis6 } from "ioredis6";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { GenerationStore, type RedisClient } from "../../src/index.js";
import { sidOf, type TestApp, testApp, userOf } from "../support/app.js";
import { CLIENT_KIND } from "../support/clients.js";
import { summary, trafficDuring } from "../support/failover-traffic.js";
import { eventually } from "../support/records.js";
import { GROUP, startSentinels, type TestSentinels } from "../support/redis-sentinel.js";

let group: TestSentinels;
beforeAll(async () => {
  group = await startSentinels();
});
afterAll(() => group?.dispose());

/** THOROUGH=1 plays ten failovers of each kind, a plain run one. */
const FAILOVERS = process.env["THOROUGH"] === "1" ? 10 : 1;

/** A client that finds the primary through the sentinels, as docs/deployment.md recommends it. */
function sentinelClient(options: RedisOptions = {}): Redis & RedisClient {
  const all: RedisOptions = {
    sentinels: group.sentinels,
    name: GROUP,
    retryStrategy: () => 50,
    sentinelRetryStrategy: () => 50,
    reconnectOnError: (error) => error.message.startsWith("READONLY"),
    ...options,
  };
  const isOn5 = CLIENT_KIND === "ioredis5" || CLIENT_KIND === "mock";
  const client = isOn5 ? new Redis(all) : (new Redis6(all as never) as unknown as Redis);
  client.on("error", () => undefined);
  onTestFinished(() => client.disconnect());
  return client as Redis & RedisClient;
}

async function sentinelApp(): Promise<TestApp> {
  const app = await testApp({ store: { client: sentinelClient(), touchIntervalMs: 0 } });
  onTestFinished(() => app.store.close());
  return app;
}

const KINDS = [
  ["SENTINEL FAILOVER", () => group.handOver()],
  ["kill -9", () => group.kill()],
] as const;

describe.each(KINDS)("C30: %s under traffic, the old primary comes back as a replica", (kind, failOver) => {
  test.each([
    ["with replicas: 2", { replicas: 2 }],
    ["without replicas", {}],
  ])(
    "%s: requests fail closed, and a confirmed logout holds",
    async (how, logout) => {
      for (let n = 0; n < FAILOVERS; n += 1) {
        const report = await trafficDuring(failOver, await sentinelApp(), logout);
        console.log(summary(`${kind}, ${how}`, report));
        expect(report.unexpected).toEqual([]);
        if ("replicas" in logout) expect(report.violations).toBe(0);
        // Until the journal has applied again what was lost.
        expect(report.exposedMs).toBeLessThan(1_000);
        expect(report.recoveryMs).toBeLessThan(20_000);
      }
    },
    FAILOVERS * 60_000,
  );
});

describe("C32: clients that read from replicas are refused", () => {
  test.each([
    ["a sentinel client with role: slave", { sentinels: [], name: GROUP, role: "slave" }, /option role/],
    ["a client with readOnly", { readOnly: true }, /option readOnly/],
  ] as const)("misuse: %s is a TypeError at once", (_what, options, message) => {
    const client = new Redis({ ...options, sentinels: undefined, lazyConnect: true } as RedisOptions);
    expect(() => new GenerationStore({ client })).toThrow(message);
    expect(() => new GenerationStore({ client })).toThrow(TypeError);
  });

  test("C32: a client that was given a replica's address logs nobody in, and believes nothing from then on", async () => {
    const good = await sentinelApp();
    const sid = sidOf(await good.signedIn("nearest"));
    const primary = await group.primary();
    const replica = group.nodes.find((node) => node !== primary);
    await expect.poll(() => replica?.root.exists(`session:${sid}`)).toBe(1);
    const client = new Redis(replica?.server.port ?? 0);
    onTestFinished(() => client.disconnect());
    const app = await testApp({ store: { client: client as Redis & RedisClient } });
    const page = await app.browser().post("/login/nearest");
    expect([page.status, page.json(), page.setCookies]).toEqual([503, { code: "ERR_REDIS_REPLY" }, []]);
    await expect(app.store.get(sid)).rejects.toMatchObject({ status: 503 });
    await expect(app.store.logoutEverywhere("nearest")).rejects.toMatchObject({ code: "ERR_LOGOUT_UNCONFIRMED" });
    expect(await good.store.get(sid)).toMatchObject({ cookie: {} });
  });

  test("C32: with primaryCheckIntervalMs, not even the first read from a replica is believed", async () => {
    const good = await sentinelApp();
    const device = await good.signedIn("checked");
    const primary = await group.primary();
    const replica = group.nodes.find((node) => node !== primary);
    await expect.poll(() => replica?.root.exists(`session:${sidOf(device)}`)).toBe(1);
    const client = new Redis(replica?.server.port ?? 0, { lazyConnect: true });
    onTestFinished(() => client.disconnect());
    const store = new GenerationStore({ client: client as Redis & RedisClient, primaryCheckIntervalMs: 1_000 });
    onTestFinished(() => store.close());
    await expect(store.get(sidOf(device))).rejects.toMatchObject({ code: "ERR_REDIS_REPLY", status: 503 });
    expect(await userOf(device)).toBe("checked");
  });
});

test("G1: with primaryCheckIntervalMs, a demoted primary that only serves reads is noticed within that time", async () => {
  const primary = await group.primary();
  const reader = new Redis(primary.server.port, { retryStrategy: () => 20 });
  onTestFinished(() => reader.disconnect());
  const store = new GenerationStore({ client: reader as Redis & RedisClient, primaryCheckIntervalMs: 100 });
  onTestFinished(() => store.close());
  const app = await sentinelApp();
  const sid = sidOf(await app.signedIn("demoted"));
  expect(await store.get(sid)).toMatchObject({ cookie: {} });
  const events: string[] = [];
  reader.on("close", () => events.push("close"));
  // By hand, so that no connection is cut.
  await primary.root.replicaof("127.0.0.1", "1");
  const demotedAtMs = performance.now();
  const isRefused = (): Promise<boolean> =>
    store.get(sid).then(
      () => false,
      (error: { status?: number }) => error.status === 503,
    );
  expect(await eventually(isRefused, 3_000)).toBe(true);
  console.log(`G1: a demoted primary was believed for ${Math.round(performance.now() - demotedAtMs)} ms`);
  expect(performance.now() - demotedAtMs).toBeLessThan(1_000);
  expect(events).toEqual([]);
  await primary.root.replicaof("NO", "ONE");
  expect(await eventually(async () => !(await isRefused()), 3_000)).toBe(true);
});
