import { expect, test } from "vitest";
import { sidOf, userOf } from "../support/app.js";
import { contentOf, faultyApp, faultyServer } from "../support/faulty-server.js";
import { eventually, liveSidsOf } from "../support/records.js";

test("C39: on a full Redis everybody can be logged out, and pages are read; nobody can sign in", async () => {
  const server = await faultyServer();
  const app = await faultyApp(server, { store: { touchIntervalMs: 0 } });
  const [device, other, single, visitor] = [
    await app.signedIn("mira"),
    await app.signedIn("mira"),
    await app.signedIn("mira"),
    await app.signedIn("noor"),
  ];
  await server.root.config("SET", "maxmemory", "1", "maxmemory-policy", "noeviction");
  expect(await Promise.all([device, other, single, visitor].map(userOf))).toEqual(["mira", "mira", "mira", "noor"]);

  // Signing in fails, is seen to fail, and changes nothing.
  const fresh = app.browser();
  const login = await fresh.post("/login/noor");
  expect([login.status, login.json(), login.setCookies]).toEqual([503, { code: "ERR_REDIS_REPLY" }, []]);
  expect((await fresh.post("/login/never-seen")).status).toBe(503);
  const again = await visitor.post("/login/noor");
  expect([again.status, again.setCookies, await userOf(visitor)]).toEqual([503, [], "noor"]);
  expect((await visitor.post("/rotate")).status).toBe(503);
  expect(await userOf(visitor)).toBe("noor");
  expect(await liveSidsOf(server.root, "noor")).toEqual([sidOf(visitor)]);

  // A save fails with an error behind the answer, and the stored session stays; a read-only page extends its life.
  const record = `session:${sidOf(visitor)}`;
  const before = await server.root.get(record);
  await visitor.post("/set/a/1");
  expect(await eventually(async () => app.errors.some((error) => /\bOOM\b/.test(String(error))))).toBe(true);
  expect(await server.root.get(record)).toBe(before);
  await server.root.pexpire(record, 50_000);
  expect(await userOf(visitor)).toBe("noor");
  expect(await eventually(async () => (await server.root.pttl(record)) > 50_000)).toBe(true);

  expect((await single.post("/logout")).status).toBe(200);
  expect(await Promise.all([single, device].map(userOf))).toEqual([null, "mira"]);
  const receipt = await app.store.logoutEverywhere("mira");
  expect(await Promise.all([device, other].map(userOf))).toEqual([null, null]);
  expect(receipt.generation).toBe(await app.store.generation("mira"));
  await expect(app.store.logoutEverywhere("never-seen")).resolves.toMatchObject({ userId: "never-seen" });

  await server.root.config("SET", "maxmemory", "0");
  expect((await device.post("/login/mira")).status).toBe(200);
  expect([await userOf(device), await userOf(visitor)]).toEqual(["mira", "noor"]);
});

test("C39: a logout of others on a full Redis ends all of them, and says that this device could not be kept", async () => {
  const server = await faultyServer();
  const app = await faultyApp(server);
  const [device, thief] = [await app.signedIn("mira"), await app.signedIn("mira")];
  await server.root.config("SET", "maxmemory", "1", "maxmemory-policy", "noeviction");
  const page = await device.post("/others");
  expect([page.status, page.json(), page.setCookies]).toEqual([503, { code: "ERR_REDIS_REPLY" }, []]);
  expect(await userOf(thief)).toBeNull();
  expect(await liveSidsOf(server.root, "mira")).toEqual([]);
});

test("C38: allkeys-lru: a counter that was evicted logs the user out, and no new one lets the old session in", async () => {
  const server = await faultyServer();
  const app = await faultyApp(server, { store: { touchIntervalMs: 0 } });
  const devices = await Promise.all(Array.from({ length: 30 }, (_, index) => app.signedIn(`u-${index}`)));
  const handedOut = new Set(Object.values(await contentOf(server.root)).filter((value) => /^\d+$/.test(value ?? "")));
  const used = Number(/used_memory:(\d+)/.exec(await server.root.info("memory"))?.[1]);
  await server.root.config("SET", "maxmemory-policy", "allkeys-lru", "maxmemory", String(used + 400_000));
  // Fill it until about half of the counters are gone.
  const counters = async (): Promise<number> => (await server.root.keys("user_login_age:*")).length;
  for (let round = 0; (await counters()) > 15 && round < 200; round += 1) {
    await server.root.mset(Array.from({ length: 200 }, (_, at) => [`filler:${round}:${at}`, "x".repeat(100)]).flat());
  }
  await server.root.config("SET", "maxmemory", "0");
  expect(await counters()).toBeLessThan(30);

  for (const [index, device] of devices.entries()) {
    const [counter, record] = await server.root.mget(`user_login_age:u-${index}`, `session:${sidOf(device)}`);
    const isWhole = counter !== null && record !== null;
    expect(await userOf(device)).toBe(isWhole ? `u-${index}` : null);
    if (counter !== null) continue;
    const old = device.clone();
    await app.store.beginLogin(`u-${index}`);
    expect(await userOf(old)).toBeNull();
    expect(handedOut).not.toContain(await app.store.generation(`u-${index}`));
    const fresh = await app.signedIn(`u-${index}`);
    expect([await userOf(old), await userOf(fresh)]).toEqual([null, `u-${index}`]);
  }
});

const LOSSES = {
  "DEL user_login_age:mira": ["DEL", "user_login_age:mira"],
  "an expiry": ["PEXPIRE", "user_login_age:mira", "0"],
} as const;

for (const [name, [command, ...args]] of Object.entries(LOSSES)) {
  test(`C38: a logged-out session stays out after ${name}, a new login and another logout`, async () => {
    const server = await faultyServer();
    const app = await faultyApp(server);
    const first = await app.signedIn("mira");
    const numbers = [await app.store.generation("mira")];
    const next = async (number: string | undefined): Promise<void> => {
      expect(numbers).not.toContain(number);
      numbers.push(number);
      expect(await userOf(first)).toBeNull();
    };
    await next((await app.store.logoutEverywhere("mira")).generation);
    await server.root.call(command, ...args);
    expect([await userOf(first), await app.store.generation("mira")]).toEqual([null, undefined]);
    // A raised number is up to a second ahead of the clock. One seeded within that second would be lower, and be taken for a
    // lost logout by the process that made it: out once more, not in.
    await expect.poll(() => BigInt(Date.now()) * 1_000n > BigInt(numbers.at(-1) ?? 0), { timeout: 3_000 }).toBe(true);
    const second = await app.signedIn("mira");
    await next(await app.store.generation("mira"));
    expect(await userOf(second)).toBe("mira");
    await next((await app.store.logoutEverywhere("mira")).generation);
    expect(await userOf(second)).toBeNull();
    await server.root.call(command, ...args);
    await next((await app.store.logoutEverywhere("mira")).generation);
    expect(await userOf(second)).toBeNull();
  });
}

test("C38: FLUSHALL signs everybody out, whatever is signed in anew", async () => {
  const server = await faultyServer();
  const app = await faultyApp(server);
  const device = await app.signedIn("mira");
  const stolen = await server.root.get(`session:${sidOf(device)}`);
  await server.root.flushall();
  expect(await userOf(device)).toBeNull();
  const fresh = await app.signedIn("mira");
  // Even if the old record were put back.
  await server.root.set(`session:${sidOf(device)}`, String(stolen));
  expect([await userOf(device), await userOf(fresh)]).toEqual([null, "mira"]);
});

test("C38: with Redis' clock behind the counter, numbers go on upwards and none is used twice", async () => {
  const server = await faultyServer();
  const app = await faultyApp(server);
  // As if the clock had been set back by a year since it was seeded.
  const ahead = BigInt(Date.now()) * 1_000n + 31_536_000_000_000n;
  await server.root.set("user_login_age:mira", String(ahead));
  const numbers = [ahead];
  for (let rounds = 0; rounds < 30; rounds += 1) {
    const device = await app.signedIn("mira");
    const raised = BigInt((await app.store.logoutEverywhere("mira")).generation);
    expect(raised).toBeGreaterThan(numbers.at(-1) ?? 0n);
    numbers.push(raised);
    expect(await userOf(device)).toBeNull();
  }
});
