import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { RedisOptions } from "ioredis";
import { expect, test } from "vitest";
import { loginOf } from "../../src/index.js";
import { type TestApp, userOf } from "../support/app.js";
import type { Browser, Page } from "../support/browser.js";
import { contentOf, type FaultyServer, faultyApp, faultyServer } from "../support/faulty-server.js";
import { Gate } from "../support/gate.js";
import { escapedFrom } from "../support/process-failures.js";

/** The default, for the machine may be busy with 200 requests and other tests. */
const TIMEOUT_MS = 2_000;

interface Outage {
  readonly server: FaultyServer;
  readonly app: TestApp;
  /** One browser per user `u-0` to `u-9`. */
  readonly devices: readonly Browser[];
  /** Opens the handlers of /held/… for their writes. */
  readonly gate: Gate;
  /** How many are held there. */
  held(): number;
}

async function outage(client: RedisOptions, commandTimeoutMs = TIMEOUT_MS): Promise<Outage> {
  const server = await faultyServer();
  const gate = new Gate();
  let held = 0;
  const app = await faultyApp(server, {
    store: { commandTimeoutMs },
    client: { retryStrategy: (times) => Math.min(times * 50, 2_000), ...client },
    routes: (express, store) => {
      express.post("/held/:what", async (req, res) => {
        held += 1;
        await gate.pass();
        const { userId = "" } = loginOf(req) ?? {};
        if (req.params.what === "save") req.session["late"] = "yes";
        if (req.params.what === "login") await store.login(req, "late-login");
        if (req.params.what === "everywhere") await store.logoutEverywhere(userId);
        if (req.params.what === "others") await store.logoutOthers(req);
        if (req.params.what === "rotate") await store.rotate(req);
        if (req.params.what === "destroy") await store.destroy(req.sessionID);
        if (req.params.what === "attempt") await store.beginLogin("late-attempt");
        res.json({});
      });
    },
  });
  const devices = await Promise.all(Array.from({ length: 10 }, (_, index) => app.signedIn(`u-${index}`)));
  // Each script is known to the server: what is in flight is an EVALSHA, and nothing of it needs a second try.
  const warm = await app.signedIn("warm-up");
  for (const path of ["/set/a/1", "/rotate", "/others", "/everywhere", "/logout"]) await warm.post(path);
  await app.client.del("user_login_age:warm-up");
  return { server, app, devices, gate, held: () => held };
}

const WRITES = ["save", "login", "everywhere", "others", "rotate", "destroy", "attempt"];

const CLIENTS: Record<string, RedisOptions> = {
  "default options": {},
  "enableOfflineQueue: false": { enableOfflineQueue: false },
  "maxRetriesPerRequest: null": { maxRetriesPerRequest: null },
  lazyConnect: { lazyConnect: true },
  "autoResendUnfulfilledCommands: false": { autoResendUnfulfilledCommands: false },
};

for (const [name, options] of Object.entries(CLIENTS)) {
  test(`C33: Redis stops under 200 requests (${name})`, async () => {
    const { server, app, devices, gate, held } = await outage(options);
    const before = await contentOf(server.root);
    await server.dump();
    let pages: { page: Page; tookMs: number }[] = [];
    const escaped = await escapedFrom(async () => {
      const writing = devices.slice(0, WRITES.length).map((device, at) => timed(device, `/held/${WRITES[at]}`, "POST"));
      await expect.poll(held).toBe(WRITES.length);
      // It hangs with sockets open, then it is gone.
      server.signal("SIGSTOP");
      gate.open();
      let answered = 0;
      const reading = Array.from({ length: 100 }, async (_, at) => {
        const held = await timed((devices[at % 10] as Browser).clone(), "/me", "GET");
        answered += 1;
        return held;
      });
      const anonymous = await Promise.all(Array.from({ length: 100 }, () => app.browser().get("/me")));
      expect([answered, anonymous.filter(({ status }) => status !== 200)]).toEqual([0, []]);
      await server.stop("SIGKILL");
      const refused = devices.map((device) => timed(device, "/me", "GET"));
      const login = timed(app.browser(), "/login/late-login", "POST");
      pages = await Promise.all([...writing, ...reading, ...refused, login]);
    });
    expect(escaped).toEqual({ exceptions: [], rejections: [] });
    // express-session answers first and saves then; its save fails behind the answer.
    const saved = pages.shift();
    expect(saved?.page.status).toBe(200);
    expect(new Set(pages.map(({ page }) => page.status))).toEqual(new Set([503]));
    expect(pages.filter(({ page }) => page.setCookies.length > 0)).toEqual([]);
    expect(Math.max(...pages.map(({ tookMs }) => tookMs))).toBeLessThan(TIMEOUT_MS + 1_500);
    for (const { page } of pages) expect(page.json()["code"]).toMatch(/^ERR_(REDIS|LOGOUT)_/);

    await server.start();
    const readyAtMs = performance.now();
    await expect.poll(async () => (await devices[0]?.get("/me"))?.status, { interval: 20, timeout: 5_000 }).toBe(200);
    expect(performance.now() - readyAtMs).toBeLessThan(1_000);
    expect(await Promise.all(devices.map(userOf))).toEqual(devices.map((_, index) => `u-${index}`));
    // All that was in flight has been sent again by now, where the client does that, and did nothing.
    await app.client.ping();
    expect(await contentOf(server.root)).toEqual(before);
    expect(await Promise.all(devices.map((device) => device.post("/set/a/1").then(({ status }) => status)))).toEqual(
      devices.map(() => 200),
    );
  });
}

test("C33: a server that hung and goes on finds all that waits for it too late", async () => {
  const { server, app, devices, gate, held } = await outage({}, 1_000);
  const before = await contentOf(server.root);
  const writing = devices.slice(0, WRITES.length).map((device, at) => timed(device, `/held/${WRITES[at]}`, "POST"));
  await expect.poll(held).toBe(WRITES.length);
  server.signal("SIGSTOP");
  gate.open();
  const [saved, ...others] = await Promise.all(writing);
  expect([saved?.page.status, ...new Set(others.map(({ page }) => page.status))]).toEqual([200, 503]);
  server.signal("SIGCONT");
  await app.client.ping();
  expect(await contentOf(server.root)).toEqual(before);
  expect(await Promise.all(devices.map(userOf))).toEqual(devices.map((_, index) => `u-${index}`));
});

test("C33: CLIENT PAUSE longer than the deadline is 503, and what was paused does nothing afterwards", async () => {
  const { server, app, devices, gate, held } = await outage({}, 1_000);
  const before = await contentOf(server.root);
  const writing = devices.slice(0, WRITES.length).map((device, at) => timed(device, `/held/${WRITES[at]}`, "POST"));
  await expect.poll(held).toBe(WRITES.length);
  await server.root.call("CLIENT", "PAUSE", "1600", "ALL");
  gate.open();
  const reading = await timed((devices[9] as Browser).clone(), "/me", "GET");
  expect([reading.page.status, reading.page.json()]).toEqual([503, { code: "ERR_REDIS_TIMEOUT" }]);
  const [, ...others] = await Promise.all(writing);
  expect(new Set(others.map(({ page }) => page.status))).toEqual(new Set([503]));
  await app.client.ping();
  expect(await contentOf(server.root)).toEqual(before);
  expect(await Promise.all(devices.map(userOf))).toEqual(devices.map((_, index) => `u-${index}`));
});

test("C33: memory does not grow while Redis is away, and no queue does", async () => {
  const server = await faultyServer();
  const app = await faultyApp(server, { store: { commandTimeoutMs: 60 }, client: { retryStrategy: () => 50 } });
  const device = await app.signedIn("mira");
  await server.dump();
  await server.stop("SIGKILL");
  const burst = async (requests: number): Promise<void> => {
    for (let sent = 0; sent < requests; sent += 250) {
      const pages = await Promise.all(Array.from({ length: 250 }, () => device.get("/me")));
      expect(pages.filter(({ status }) => status !== 503)).toEqual([]);
    }
    app.errors.length = 0;
  };
  await burst(500);
  const beforeBytes = heapBytes();
  await burst(3_000);
  expect(heapBytes() - beforeBytes).toBeLessThan(4_000_000);
  const { offlineQueue, commandQueue } = app.client as unknown as Record<string, { length: number }>;
  expect([offlineQueue?.length, commandQueue?.length]).toEqual([0, 0]);
  await server.start();
  await expect.poll(async () => (await device.get("/me")).status, { interval: 20 }).toBe(200);
});

async function timed(browser: Browser, path: string, method: string): Promise<{ page: Page; tookMs: number }> {
  const startedAtMs = performance.now();
  const page = await browser.send(method, path);
  return { page, tookMs: performance.now() - startedAtMs };
}

function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}
