import { expect, test } from "vitest";
import { GenerationStore } from "../../src/index.js";
import { sidOf, userOf } from "../support/app.js";
import { clientOf, faultyApp, faultyServer, isInSync, replicaOf } from "../support/faulty-server.js";
import { eventually } from "../support/records.js";
import { signedCookie } from "../support/signed-cookie.js";

test("C30: a demoted primary answers 503 to reads and writes, until it or another is the primary again", async () => {
  const primary = await faultyServer();
  const replica = await replicaOf(primary);
  const app = await faultyApp(primary, { client: { retryStrategy: () => 20 } });
  const [device, other] = [await app.signedIn("mira"), await app.signedIn("noor")];
  const sid = sidOf(device);
  await app.store.logoutEverywhere("warm-up", { replicas: 1, timeoutMs: 5_000 });

  await replica.root.replicaof("NO", "ONE");
  await primary.root.replicaof("127.0.0.1", String(replica.port));
  expect(await eventually(() => isInSync(primary), 10_000)).toBe(true);
  // The new primary logs the user out; on this one, a read before the next write cannot know better.
  const writing = await device.post("/everywhere");
  expect([writing.status, writing.json()]).toEqual([503, { code: "ERR_LOGOUT_UNCONFIRMED" }]);

  for (const path of ["/me", "/me", "/me"]) {
    const page = await device.get(path);
    expect([page.status, page.json(), page.setCookies]).toEqual([503, { code: "ERR_REDIS_REPLY" }, []]);
  }
  const calls: [string, () => Promise<unknown>][] = [
    ["get", () => app.store.get(sid)],
    ["readRequest", () => app.store.readRequest(signedCookie(sid), { secret: "test secret" })],
    ["generation", () => app.store.generation("mira")],
    ["isCurrent", () => app.store.isCurrent({ userId: "mira", generation: "1" })],
    ["beginLogin", () => app.store.beginLogin("mira")],
    ["destroy", () => app.store.destroy(sid)],
    ["logoutEverywhere", () => app.store.logoutEverywhere("mira")],
    ["ids", () => app.store.ids()],
  ];
  for (const [name, call] of calls) await expect(call(), name).rejects.toMatchObject({ status: 503 });
  const login = await app.browser().post("/login/mira");
  expect([login.status, login.setCookies]).toEqual([503, []]);

  await primary.root.replicaof("NO", "ONE");
  const promotedAtMs = performance.now();
  expect(await eventually(async () => (await device.get("/me")).status === 200)).toBe(true);
  expect(performance.now() - promotedAtMs).toBeLessThan(1_000);
  expect([await userOf(device), await userOf(other)]).toEqual(["mira", "noor"]);
  expect((await device.post("/everywhere")).status).toBe(200);
  expect(await userOf(device)).toBeNull();
}, 30_000);

for (const reconnects of [true, false]) {
  test(`C30: demotion under traffic, ${reconnects ? "with" : "without"} reconnectOnError: no page is anonymous`, async () => {
    const primary = await faultyServer();
    const replica = await replicaOf(primary);
    const app = await faultyApp(primary, {
      store: { touchIntervalMs: 0 },
      client: {
        retryStrategy: () => 20,
        ...(reconnects ? { reconnectOnError: (error: Error) => error.message.startsWith("READONLY") } : {}),
      },
    });
    const devices = await Promise.all(Array.from({ length: 5 }, (_, index) => app.signedIn(`u-${index}`)));
    await app.store.logoutEverywhere("warm-up", { replicas: 1, timeoutMs: 5_000 });
    const seen: { status: number; user: string | null; cookies: number }[] = [];
    let isOn = true;
    const traffic = devices.map(async (device, index) => {
      while (isOn) {
        const page = await (index % 2 === 0 ? device.post("/set/a/1") : device.get("/me"));
        const user = page.status === 200 ? `u-${index}` : null;
        if (page.status === 200 && index % 2 === 1) expect(page.json()).toMatchObject({ user });
        seen.push({ status: page.status, user, cookies: page.setCookies.length });
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    await replica.root.replicaof("NO", "ONE");
    await primary.root.replicaof("127.0.0.1", String(replica.port));
    await expect.poll(() => seen.some(({ status }) => status === 503), { timeout: 5_000 }).toBe(true);
    expect(await eventually(() => isInSync(primary), 10_000)).toBe(true);
    // Once a write has been refused, nothing is answered from this server's data any more.
    const latest = (count: number): Set<number> => new Set(seen.slice(-count).map(({ status }) => status));
    await expect.poll(() => [...latest(20)], { timeout: 5_000 }).toEqual([503]);
    const seenBefore = seen.length;
    await expect.poll(() => seen.length - seenBefore, { timeout: 5_000 }).toBeGreaterThan(20);
    expect([...latest(seen.length - seenBefore)]).toEqual([503]);

    await primary.root.replicaof("NO", "ONE");
    await expect.poll(() => seen.at(-1)?.status, { timeout: 2_000 }).toBe(200);
    isOn = false;
    await Promise.all(traffic);
    expect(new Set(seen.map(({ status }) => status))).toEqual(new Set([200, 503]));
    expect(seen.filter(({ status, cookies }) => status === 503 && cookies > 0)).toEqual([]);
    expect(await Promise.all(devices.map(userOf))).toEqual(devices.map((_, index) => `u-${index}`));
  }, 30_000);
}

test("C30: a server that loads its dump is an error with status 503, never 'no session'", async () => {
  const server = await faultyServer();
  // By default ioredis looks for up to ten seconds after the end of loading whether it is over.
  const app = await faultyApp(server, { store: { commandTimeoutMs: 200 }, client: { maxLoadingRetryTime: 100 } });
  const device = await app.signedIn("mira");
  const cookie = signedCookie(sidOf(device));
  const filler = Array.from({ length: 800 }, (_, index) => [`filler:${index}`, "x"]).flat();
  await server.root.mset(filler);
  await server.dump();
  await server.stop("SIGKILL");
  // One millisecond per key, and LOADING to everybody who asks in between.
  const loading = server.start(["--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024"]);

  const eager = clientOf(server, { enableReadyCheck: false, retryStrategy: () => 5 });
  const store = new GenerationStore({ client: eager, commandTimeoutMs: 500 });
  const outcomes = new Set<string>();
  const read = async (): Promise<string> => {
    try {
      return (await store.readRequest(cookie, { secret: "test secret" })) === null ? "no session" : "session";
    } catch (error) {
      const { status, message } = error as { status?: number; message: string };
      return `${status} ${/with (\w+)/.exec(message)?.[1]}`;
    }
  };
  await expect.poll(read, { timeout: 5_000 }).toBe("503 LOADING");
  expect((await device.get("/me")).status).toBe(503);
  while (!outcomes.has("session")) {
    outcomes.add(await read());
    expect(outcomes).not.toContain("no session");
  }
  await loading;
  expect(await eventually(async () => (await device.get("/me")).status === 200)).toBe(true);
  expect(await userOf(device)).toBe("mira");
}, 30_000);
