import { expect, test } from "vitest";
import { sidOf, userOf } from "../support/app.js";
import { commandCalls, resetCommandCalls } from "../support/command-stats.js";
import { faultyApp, faultyServer } from "../support/faulty-server.js";
import { RANDOM, rounds } from "../support/jitter.js";
import { eventually } from "../support/records.js";

const SIZES: readonly (readonly [name: string, bytes: number, requests: number])[] = [
  ["1 KB", 1_000, 100],
  ["100 KB", 100_000, 100],
  ["1 MB", 1_000_000, 20],
  ["20 MB", 20_000_000, 2],
];

test("C40: a page that only reads costs the same commands at every size, and never sends the session back", async () => {
  const server = await faultyServer();
  const app = await faultyApp(server, {
    store: { maxSessionBytes: 30_000_000, touchIntervalMs: 0, commandTimeoutMs: 10_000 },
    routes: (express) => {
      express.post("/fill/:bytes", (req, res) => {
        req.session["fill"] = "x".repeat(Number(req.params.bytes));
        res.json({});
      });
      express.get("/size", (req, res) => res.json({ bytes: String(req.session["fill"]).length }));
    },
  });
  for (const [name, bytes, requests] of SIZES) {
    const device = await app.signedIn("mira");
    await device.post(`/fill/${bytes}`);
    expect((await device.get("/size")).json(), name).toEqual({ bytes });
    await resetCommandCalls(server.root);
    for (let sent = 0; sent < requests; sent += 1) expect((await device.get("/size")).status).toBe(200);
    const calls = await commandCalls(server.root);
    expect([calls.get("mget"), calls.get("pexpire")], name).toEqual([requests, requests]);
    expect([...calls.keys()].filter((command) => !["mget", "pexpire", "time", "evalsha"].includes(command))).toEqual(
      [],
    );
    const [, received] = /total_net_input_bytes:(\d+)/.exec(await server.root.info("stats")) ?? [];
    expect(Number(received) / requests, name).toBeLessThan(1_000);
  }
}, 60_000);

test("C40: over the limit a save fails with a clear error, and the session stays as it was", async () => {
  const server = await faultyServer();
  const app = await faultyApp(server, { store: { maxSessionBytes: 2_000 } });
  const device = await app.signedIn("mira");
  await device.post("/set/a/1");
  const before = await server.root.get(`session:${sidOf(device)}`);
  await device.post(`/set/b/${"x".repeat(3_000)}`);
  expect(await eventually(async () => app.errors.length === 1)).toBe(true);
  expect(app.errors[0]).toMatchObject({ code: "ERR_SESSION_TOO_LARGE", status: 500 });
  expect(await server.root.get(`session:${sidOf(device)}`)).toBe(before);
  // Three bytes each in UTF-8: it is bytes that count.
  await device.post(`/set/c/${encodeURIComponent("€".repeat(700))}`);
  expect(await eventually(async () => app.errors.length === 2)).toBe(true);
  expect((await device.get("/me")).json()).toEqual({ user: "mira", data: { a: "1" } });
});

test("C40: a dead record is recognised by its head: nobody parses its body", async () => {
  const server = await faultyServer();
  const app = await faultyApp(server);
  const device = await app.signedIn("mira");
  const key = `session:${sidOf(device)}`;
  const record = String(await server.root.get(key));
  await server.root.set(key, `${record.slice(0, record.indexOf("{"))}{ this is no JSON`, "PX", 60_000);
  await app.store.logoutEverywhere("mira");
  expect(await userOf(device)).toBeNull();
  // Had its body been looked at, it would have been reported as corrupt.
  expect(app.events).toEqual(["logout:everywhere"]);
});

test("C69: logging out users that do not exist leaves keys for a day, set in the same step", async () => {
  const server = await faultyServer();
  const app = await faultyApp(server, { store: { commandTimeoutMs: 10_000 } });
  const IDS = 100_000;
  const DAY_MS = 86_400_000;
  await server.root.config("RESETSTAT");
  for (let sent = 0; sent < IDS; sent += 500) {
    await Promise.all(Array.from({ length: 500 }, (_, at) => app.store.logoutEverywhere(`nobody-${sent + at}`)));
  }
  expect(await server.root.dbsize()).toBe(IDS);
  const [, expiring] = /db0:keys=\d+,expires=(\d+)/.exec(await server.root.info("keyspace")) ?? [];
  expect(expiring).toBe(String(IDS));
  const calls = await commandCalls(server.root);
  // One script each, nothing that could be lost in between.
  expect((calls.get("evalsha") ?? 0) + (calls.get("eval") ?? 0)).toBeLessThan(IDS + 1_000);
  const ttlMs = await server.root.pttl("user_login_age:nobody-7");
  expect(ttlMs).toBeGreaterThan(DAY_MS - 60_000);
  expect(ttlMs).toBeLessThanOrEqual(DAY_MS);
}, 60_000);

test("C69: a completed login makes the counter stay, whatever raced with the user's first raise", RANDOM, async () => {
  const server = await faultyServer();
  const app = await faultyApp(server);
  await rounds(150, 6, async (index) => {
    const user = `u-${index}`;
    const device = app.browser();
    const [login] = await Promise.all([device.post(`/login/${user}`), app.store.logoutEverywhere(user)]);
    const counter = `user_login_age:${user}`;
    const isIn = login.status === 200 && (await userOf(device)) === user;
    const ttlMs = await server.root.pttl(counter);
    if (isIn) expect(ttlMs).toBe(-1);
    else expect([200, 409]).toContain(login.status);
    // Afterwards too: neither a logout nor another attempt gives it an end again.
    const late = await app.signedIn(user);
    await app.store.beginLogin(user);
    expect(await server.root.pttl(counter)).toBe(-1);
    await app.store.logoutEverywhere(user);
    expect([await server.root.pttl(counter), await userOf(late)]).toEqual([-1, null]);
  });
});
