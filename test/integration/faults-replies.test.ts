import { expect, test } from "vitest";
import { LogoutUnconfirmedError } from "../../src/index.js";
import { endRecord } from "../../src/session/scripts/end-record.js";
import { ensureGeneration } from "../../src/session/scripts/ensure-generation.js";
import { fadeRecord } from "../../src/session/scripts/fade-record.js";
import { replaceCookie } from "../../src/session/scripts/replace-cookie.js";
import { restoreGeneration } from "../../src/session/scripts/restore-generation.js";
import { sidOf, type TestAppOptions, userOf } from "../support/app.js";
import { named, runs } from "../support/commands.js";
import { faultyServer, replicaOf } from "../support/faulty-server.js";
import { type ProxiedApp, proxiedApp, warmedUp } from "../support/proxied-app.js";
import { eventually, liveSidsOf, recordsIn } from "../support/records.js";
import { regenerate } from "../support/session-calls.js";

const APP: TestAppOptions = {
  store: { touchIntervalMs: 0 },
  routes: (app) => {
    app.post("/remember/:ms", (req, res) => {
      req.session.cookie.maxAge = Number(req.params.ms);
      res.json({});
    });
    app.post("/regenerate", async (req, res) => {
      await regenerate(req);
      res.json({});
    });
  },
};

/** A warmed-up application whose rarer scripts have run as well. */
async function ready(isResent: boolean): Promise<ProxiedApp> {
  const app = await warmedUp(isResent, APP);
  const device = await app.signedIn("warm-up");
  const old = device.clone();
  await device.post("/remember/60000");
  await app.store.logoutEverywhere("warm-up");
  await userOf(old);
  await app.client.flushdb();
  return app;
}

async function isSoon(condition: () => boolean | Promise<boolean>): Promise<void> {
  expect(await eventually(async () => condition())).toBe(true);
}

for (const isResent of [true, false]) {
  for (const fault of ["cutAfter", "cutBefore", "halfClose"] as const) {
    const circumstances = `${fault}, autoResendUnfulfilledCommands: ${isResent}`;

    test(`C35: a read and a touch meet a broken connection (${circumstances})`, async () => {
      const app = await ready(isResent);
      const device = await app.signedIn("mira");
      const reading = app.proxy[fault](named("mget"));
      const page = await device.get("/me");
      await reading;
      expect([page.status, page.setCookies]).toEqual([isResent ? 200 : 503, []]);
      expect(await userOf(device)).toBe("mira");

      await app.client.pexpire(`session:${sidOf(device)}`, 10_000);
      const touching = app.proxy[fault](named("pexpire"));
      expect((await device.get("/me")).status).toBe(200);
      await touching;
      const wasExtended = isResent || fault === "cutAfter";
      await isSoon(async () => (await app.client.pttl(`session:${sidOf(device)}`)) > 10_000 === wasExtended);
      expect(await userOf(device)).toBe("mira");
      expect(await recordsIn(app.client)).toHaveLength(1);
    });

    test(`C35: a changed cookie meets a broken connection (${circumstances})`, async () => {
      const app = await ready(isResent);
      const device = await app.signedIn("mira");
      await device.post("/set/cart/full");
      const happened = app.proxy[fault](runs(replaceCookie));
      expect((await device.post("/remember/3600000")).status).toBe(200);
      await happened;
      await isSoon(() => app.errors.length === (isResent ? 0 : 1));
      const stored = isResent || fault === "cutAfter";
      await isSoon(async () => ((await recordsIn(app.client))[0]?.text.includes("3600000") ?? false) === stored);
      expect((await device.get("/me")).json()).toEqual({ user: "mira", data: { cart: "full" } });
      expect((await device.post("/remember/7200000")).status).toBe(200);
      await isSoon(async () => (await recordsIn(app.client))[0]?.text.includes("7200000") ?? false);
      expect(app.events).toEqual(expect.not.arrayContaining(["fenced:ended"]));
    });

    test(`C35: regenerate() meets a broken connection at end-record (${circumstances})`, async () => {
      const app = await ready(isResent);
      const device = app.browser();
      await device.post("/set/cart/full");
      const old = sidOf(device);
      const happened = app.proxy[fault](runs(endRecord));
      const page = await device.post("/regenerate");
      await happened;
      expect(page.status).toBe(isResent ? 200 : 503);
      const isEnded = isResent || fault === "cutAfter";
      // express-session gives the request a new session in any case; the error says that the old one may still be there.
      expect((await device.get("/me")).json()).toEqual({ user: null, data: {} });
      await isSoon(async () => (await recordsIn(app.client)).some(({ sid }) => sid === old) !== isEnded);
    });

    test(`C35: a dead record's fading meets a broken connection: the visitor notices nothing (${circumstances})`, async () => {
      const app = await ready(isResent);
      const device = await app.signedIn("mira");
      await app.store.logoutEverywhere("mira");
      const happened = app.proxy[fault](runs(fadeRecord));
      expect(await userOf(device)).toBeNull();
      await happened;
      expect([app.errors, await liveSidsOf(app.client, "mira")]).toEqual([[], []]);
      expect((await device.post("/login/mira")).status).toBe(200);
    });

    test(`C35: beginLogin meets a broken connection (${circumstances})`, async () => {
      const app = await ready(isResent);
      const device = app.browser();
      const happened = app.proxy[fault](runs(ensureGeneration));
      const page = await device.post("/login/mira");
      await happened;
      expect([page.status, page.setCookies.length]).toEqual(isResent ? [200, 1] : [503, 0]);
      const generation = await app.store.generation("mira");
      // Seeded once, however often it was asked.
      expect((await device.post("/login/mira")).status).toBe(200);
      if (isResent || fault === "cutAfter") expect(await app.store.generation("mira")).toBe(generation);
      expect(await liveSidsOf(app.client, "mira")).toEqual([sidOf(device)]);
    });
  }
}

test("C35: the first TIME is lost: the deadline says so, and the next try works", async () => {
  const app = await proxiedApp({ autoResendUnfulfilledCommands: false }, { store: { commandTimeoutMs: 300 } });
  const happened = app.proxy.cutAfter(named("time"));
  expect((await app.browser().post("/login/mira")).status).toBe(503);
  await happened;
  expect(await userOf(await app.signedIn("mira"))).toBe("mira");
});

test("C35: TIME sent again long after does not stretch the time in which scripts may run", async () => {
  const app = await proxiedApp({ retryStrategy: () => 1_000 }, { store: { commandTimeoutMs: 200 } });
  await app.store.generation("mira");
  const lost = app.proxy.cutBefore(named("time"));
  expect((await app.browser().post("/login/mira")).status).toBe(503);
  await lost;
  // Answered a second after it was asked: were that believed, each script could run a second after its deadline.
  const isBack = (): Promise<boolean> =>
    app.store.generation("mira").then(
      () => true,
      () => false,
    );
  await expect.poll(isBack, { timeout: 5_000 }).toBe(true);
  const device = await app.signedIn("mira");
  await app.store.logoutEverywhere("warm-up");
  await app.client.call("CLIENT", "PAUSE", "500", "ALL");
  await expect(app.store.logoutEverywhere("mira")).rejects.toMatchObject({ code: "ERR_LOGOUT_UNCONFIRMED" });
  await app.client.ping();
  await expect.poll(async () => (await device.get("/me")).status).toBe(200);
  expect(await userOf(device)).toBe("mira");
});

for (const fault of ["cutAfter", "cutBefore", "halfClose"] as const) {
  for (const command of ["the mark", "WAIT"]) {
    test(`C35: a logout with replicas meets a broken connection at ${command} (${fault}): counted again, not guessed`, async () => {
      const primary = await faultyServer();
      const replica = await replicaOf(primary);
      const app = await proxiedApp({}, { store: { commandTimeoutMs: 2_000 } }, primary.port);
      await app.store.logoutEverywhere("warm-up", { replicas: 1, timeoutMs: 2_000 });
      const device = await app.signedIn("mira");
      const happened = app.proxy[fault](command === "WAIT" ? named("wait") : runs(restoreGeneration));
      const receipt = await app.store.logoutEverywhere("mira", { replicas: 1, timeoutMs: 2_000 });
      await happened;
      expect(receipt.replicas).toBe(1);
      expect(await replica.root.get("user_login_age:mira")).toBe(receipt.generation);
      expect(await userOf(device)).toBeNull();
    });
  }
}

test("C35: a logout whose number is gone before the replicas have it is unconfirmed", async () => {
  const primary = await faultyServer();
  await replicaOf(primary);
  const app = await proxiedApp({}, {}, primary.port);
  await app.store.logoutEverywhere("warm-up", { replicas: 1, timeoutMs: 2_000 });
  // The connection for replicas is slow to come, the counter is evicted meanwhile.
  await primary.root.call("CLIENT", "PAUSE", "1", "ALL");
  app.proxy.delayReplies(50);
  const logout = app.store.logoutEverywhere("mira", { replicas: 1, timeoutMs: 1_000 }).catch((error: unknown) => error);
  await isSoon(async () => (await primary.root.del("user_login_age:mira")) === 1);
  const error = await logout;
  expect(error).toBeInstanceOf(LogoutUnconfirmedError);
  expect(error).toMatchObject({ cause: { code: "ERR_REDIS_REPLY" } });
});
