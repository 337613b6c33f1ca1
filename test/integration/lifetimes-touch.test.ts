import type { SessionData } from "express-session";
import { expect, test } from "vitest";
import { GenerationStore } from "../../src/index.js";
import { sidOf, sleep, testApp, userOf } from "../support/app.js";
import { freshClient } from "../support/clients.js";
import { clientOnOwnServer, commandCalls, resetCommandCalls } from "../support/command-stats.js";

const HOUR_MS = 3_600_000;

function withAge(originalMaxAge: number | null): SessionData {
  return { cookie: { originalMaxAge }, a: 1 } as unknown as SessionData;
}

function touched(store: GenerationStore, sid: string, data: unknown, withCallback: boolean): Promise<void> {
  if (!withCallback) return store.touch(sid, data as SessionData);
  return new Promise((resolve, reject) => {
    store.touch(sid, data as SessionData, (error) => (error ? reject(error) : resolve()));
  });
}

test.each([true, false])(
  "C21: touches by hand create nothing and never fail; with callback: %s",
  async (withCallback) => {
    const client = await freshClient();
    const store = new GenerationStore({ client, touchIntervalMs: 0 });
    for (const data of [null, undefined, {}, withAge(HOUR_MS), { cookie: null }, { cookie: "x" }]) {
      await touched(store, "missing", data, withCallback);
      expect(await client.dbsize()).toBe(0);
    }
  },
);

test.each([
  ["null", null],
  ["{}", {}],
  ["data without a cookie", { a: 2 }],
])("C21: touch(sid, %s) renews the session's own lifetime, not the store's default", async (_what, data) => {
  const client = await freshClient();
  const store = new GenerationStore({ client, touchIntervalMs: 0 });
  await store.set("short", withAge(60_000));
  await client.pexpire("session:short", 1_000);
  await store.touch("short", data as unknown as SessionData);
  const ttl = await client.pttl("session:short");
  expect(ttl).toBeGreaterThan(50_000);
  expect(ttl).toBeLessThanOrEqual(60_000);
  expect(await store.get("short")).toMatchObject({ a: 1 });
});

test("C21: a heartbeat that fetched the session itself keeps it alive and its data as it is", async () => {
  const client = await freshClient();
  const store = new GenerationStore({ client, touchIntervalMs: 0 });
  await store.set("beat", withAge(60_000));
  const read = await store.get("beat");
  await store.set("beat", { ...withAge(60_000), a: 2 } as unknown as SessionData);
  await client.pexpire("session:beat", 1_000);
  if (read !== null) await store.touch("beat", read);
  expect(await client.pttl("session:beat")).toBeGreaterThan(50_000);
  expect(await store.get("beat")).toMatchObject({ a: 2 });
});

test("C21: a record whose own expiry has passed is not extended, whatever the touch says", async () => {
  const client = await freshClient();
  const store = new GenerationStore({ client, touchIntervalMs: 0 });
  const expires = new Date(Date.now() - 1_000).toISOString();
  const record = `,,n=x,${JSON.stringify({ cookie: { expires }, a: 1 })}`;
  await client.set("session:past", record, "PX", 30_000);
  for (const data of [null, {}, withAge(HOUR_MS)]) {
    await store.touch("past", data as SessionData);
    expect(await client.pttl("session:past")).toBeLessThanOrEqual(30_000);
    expect(await store.get("past")).toBeNull();
  }
});

test("C21: a stale record stays dead whoever touches it", async () => {
  const { signedIn, store, client } = await testApp({ store: { touchIntervalMs: 0 } });
  const device = await signedIn("100");
  const sid = sidOf(device);
  const read = await store.get(sid);
  await client.incr("user_login_age:100");
  for (const data of [null, {}, withAge(HOUR_MS), read]) {
    await store.touch(sid, data as SessionData);
    expect(await store.get(sid)).toBeNull();
  }
  expect(await userOf(device)).toBeNull();
});

test("C21: a corrupt record is not repaired by a touch", async () => {
  const client = await freshClient();
  const store = new GenerationStore({ client, touchIntervalMs: 0 });
  for (const record of ["", "nonsense", ",,n=x,[]", ",,n=x,{", ",,n=x,{}", "100,abc,,{}"]) {
    await client.set("session:odd", record, "PX", 30_000);
    for (const data of [null, withAge(HOUR_MS)]) await store.touch("odd", data as SessionData);
    expect(await client.get("session:odd")).toBe(record);
    expect(await client.pttl("session:odd")).toBeLessThanOrEqual(30_000);
  }
});

test("G5: touch never shortens a life", async () => {
  const { signedIn, client } = await testApp({
    store: { touchIntervalMs: 0 },
    session: { cookie: { maxAge: 60_000 } },
  });
  const device = await signedIn("100");
  const key = `session:${sidOf(device)}`;
  await client.pexpire(key, HOUR_MS);
  await device.get("/me");
  expect(await client.pttl(key)).toBeGreaterThan(HOUR_MS - 10_000);
});

test("G5: a touch never creates the key: not when it ended while the request ran", async () => {
  const { signedIn, client } = await testApp({
    store: { touchIntervalMs: 0 },
    routes: (app) => {
      app.get("/ended", async (req, res) => {
        await client.del(`session:${req.sessionID}`);
        res.json({});
      });
    },
  });
  const device = await signedIn("100");
  const sid = sidOf(device);
  expect((await device.get("/ended")).status).toBe(200);
  expect(await client.exists(`session:${sid}`)).toBe(0);
});

test("touchIntervalMs 0: a maxAge of 100 ms is over after 100 ms, in Redis too", async () => {
  const client = await freshClient();
  const store = new GenerationStore({ client, touchIntervalMs: 0 });
  await store.set("a", withAge(100));
  const ttl = await client.pttl("session:a");
  expect(ttl).toBeLessThanOrEqual(100);
  await sleep(102);
  expect(await store.get("a")).toBeNull();
  expect(await client.exists("session:a")).toBe(0);
});

test("touchIntervalMs 0: each request gives the session its whole maxAge again, and no more", async () => {
  const { client, signedIn } = await testApp({
    store: { touchIntervalMs: 0 },
    session: { cookie: { maxAge: 60_000 } },
  });
  const device = await signedIn("100");
  const key = `session:${sidOf(device)}`;
  for (let request = 0; request < 3; request += 1) {
    await client.pexpire(key, 5_000);
    expect(await userOf(device)).toBe("100");
    const ttl = await client.pttl(key);
    expect(ttl).toBeGreaterThan(50_000);
    expect(ttl).toBeLessThanOrEqual(60_000);
  }
});

test.each([
  ["a tenth of short sessions", 1_000, undefined, 1_100],
  ["the interval on long sessions", HOUR_MS, undefined, HOUR_MS + 60_000],
  ["the interval when it is short", HOUR_MS, 500, HOUR_MS + 500],
  ["none with 0", HOUR_MS, 0, HOUR_MS],
])("touch slack is %s", async (_what, maxAge, touchIntervalMs, most) => {
  const client = await freshClient();
  const store = new GenerationStore({ client, touchIntervalMs });
  await store.set("a", withAge(maxAge));
  const ttl = await client.pttl("session:a");
  expect(ttl).toBeGreaterThan(most - 400);
  expect(ttl).toBeLessThanOrEqual(most);
});

test("touches are left out within the interval, and no session dies early for it", async () => {
  const client = await clientOnOwnServer();
  const { signedIn } = await testApp({ store: { client }, session: { cookie: { maxAge: HOUR_MS } } });
  const device = await signedIn("100");
  await resetCommandCalls(client);
  for (let request = 0; request < 30; request += 1) expect(await userOf(device)).toBe("100");
  const calls = await commandCalls(client);
  expect((calls.get("pexpire") ?? 0) + (calls.get("set") ?? 0)).toBeLessThanOrEqual(3);
  expect(await client.pttl(`session:${sidOf(device)}`)).toBeGreaterThan(HOUR_MS);
});
