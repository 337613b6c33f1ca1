import { expect, test } from "vitest";
import { GenerationStore } from "../../src/index.js";
import { sidOf, type TestApp, userOf } from "../support/app.js";
import { commandCalls, resetCommandCalls } from "../support/command-stats.js";
import { clientOf, contentOf, faultyApp, faultyServer } from "../support/faulty-server.js";
import { recordsIn } from "../support/records.js";

/** Runs every script once, as one device of this user. */
async function useAll(app: TestApp, user: string): Promise<void> {
  const device = await app.signedIn(user);
  const [other, old] = [await app.signedIn(user), device.clone()];
  for (const path of ["/set/a/1", "/rotate", "/others", "/remember/60000", "/set/b/2"]) {
    expect((await device.post(path)).status, path).toBe(200);
  }
  expect([await userOf(device), await userOf(other), await userOf(old)]).toEqual([user, null, null]);
  await app.store.set(`by-hand-${user}`, { cookie: { originalMaxAge: 60_000 }, a: 1 } as never);
  expect((await device.post("/logout")).status).toBe(200);
  await app.store.destroy(`by-hand-${user}`);
  await app.store.logoutEverywhere(user);
}

const REMEMBER = {
  store: { touchIntervalMs: 0, commandTimeoutMs: 5_000 },
  routes: (app: TestApp["app"]) => {
    app.post("/remember/:ms", (req, res) => {
      req.session.cookie.maxAge = Number(req.params["ms"]);
      res.json({});
    });
  },
};

test("C28: after SCRIPT FLUSH everything goes on, and scripts are sent by their digest again", async () => {
  const server = await faultyServer();
  const app = await faultyApp(server, REMEMBER);
  await useAll(app, "warm-up");
  await useAll(app, "mira");
  await server.root.script("FLUSH");
  await useAll(app, "mira");
  await resetCommandCalls(server.root);
  await useAll(app, "mira");
  const calls = await commandCalls(server.root);
  expect([calls.get("eval") ?? 0, (calls.get("evalsha") ?? 0) > 10]).toEqual([0, true]);
  expect([app.errors, (await recordsIn(server.root)).filter(({ isLive }) => isLive)]).toEqual([[], []]);
});

test("C28: 50 at once after SCRIPT FLUSH: each takes effect exactly once", async () => {
  const server = await faultyServer();
  const app = await faultyApp(server, REMEMBER);
  await useAll(app, "warm-up");
  const devices = await Promise.all(Array.from({ length: 50 }, (_, index) => app.signedIn(`u-${index}`)));
  await server.root.script("FLUSH");
  const saves = await Promise.all(devices.map((device, index) => device.post(`/set/n/${index}`)));
  expect(saves.filter(({ status }) => status !== 200)).toEqual([]);
  const pages = await Promise.all(devices.map((device) => device.get("/me")));
  expect(pages.map((page) => page.json())).toEqual(
    devices.map((_, index) => ({ user: `u-${index}`, data: { n: String(index) } })),
  );
  await server.root.script("FLUSH");
  const raised = await Promise.all(devices.map((_, index) => app.store.logoutEverywhere(`u-${index % 25}`)));
  // Two logouts of the same user raised its number twice, not three times or once.
  expect(new Set(raised.map(({ generation }) => generation)).size).toBe(50);
  await server.root.script("FLUSH");
  const logins = await Promise.all(Array.from({ length: 50 }, (_, index) => app.signedIn(`v-${index}`)));
  expect(await Promise.all(logins.map(userOf))).toEqual(logins.map((_, index) => `v-${index}`));
  expect(app.errors).toEqual([]);
});

test("C28: a restarted Redis knows no script: nobody sees it", async () => {
  const server = await faultyServer();
  const app = await faultyApp(server, REMEMBER);
  const device = await app.signedIn("mira");
  await server.restartWith(await server.dump());
  await expect.poll(async () => (await device.get("/me")).status).toBe(200);
  await useAll(app, "noor");
  expect([await userOf(device), app.errors]).toEqual(["mira", []]);
});

test("C27: with a keyPrefix every key has it once, and applications on one Redis do not meet", async () => {
  const server = await faultyServer();
  const [a, b] = [
    await faultyApp(server, { ...REMEMBER, client: { keyPrefix: "a:" } }),
    await faultyApp(server, { ...REMEMBER, client: { keyPrefix: "b:" } }),
  ];
  const [deviceA, deviceB] = [await a.signedIn("mira"), await b.signedIn("mira")];
  await useAll(a, "noor");
  const keys = await server.root.keys("*");
  expect(keys).toContain(`a:session:${sidOf(deviceA)}`);
  expect(keys.filter((key) => key.startsWith("b:")).sort()).toEqual([
    `b:session:${sidOf(deviceB)}`,
    "b:user_login_age:mira",
  ]);
  expect(keys.filter((key) => !/^[ab]:(session|user_login_age):[^:]+$/.test(key))).toEqual([]);
  await a.store.logoutEverywhere("mira");
  expect([await userOf(deviceA), await userOf(deviceB)]).toEqual([null, "mira"]);
  const before = await contentOf(server.root);
  await a.signedIn("mira");
  expect(await a.store.length()).toBeGreaterThan(1);
  await a.store.clear();
  expect(Object.keys(before).filter((key) => key.startsWith("b:"))).toEqual((await server.root.keys("b:*")).sort());
  expect([await a.store.ids(), await userOf(deviceB)]).toEqual([[], "mira"]);
});

const DENIALS: Record<string, { readonly rules: string[]; readonly word: string | undefined }> = {
  "-hello": { rules: ["~*", "+@all", "-hello"], word: undefined },
  "-eval -evalsha": { rules: ["~*", "+@all", "-eval", "-evalsha"], word: "EVALSHA" },
  "-mget": { rules: ["~*", "+@all", "-mget"], word: "MGET" },
};

for (const [name, { rules, word }] of Object.entries(DENIALS)) {
  test(`C36: an ACL user with ${name}: ${word === undefined ? "all works" : `one clear error names ${word}`}`, async () => {
    const server = await faultyServer();
    await server.root.call("ACL", "SETUSER", "limited", "on", ">password", ...rules);
    const app = await faultyApp(server, { ...REMEMBER, client: { username: "limited", password: "password" } });
    if (word === undefined) {
      await useAll(app, "mira");
      return;
    }
    const failing = word === "MGET" ? app.store.get("some-sid") : app.store.beginLogin("mira");
    await expect(failing).rejects.toMatchObject({
      code: "ERR_REDIS_REPLY",
      status: 503,
      message: expect.stringContaining("NOPERM"),
      cause: { message: `NOPERM The user may not run ${word}` },
    });
  });
}

test("C36: the same records whatever the protocol and the mapping of replies", async () => {
  const server = await faultyServer();
  const { Redis: Redis6 } = await import("ioredis6");
  const clients = [
    clientOf(server),
    new Redis6(server.port, { protocol: 2 }),
    new Redis6(server.port, { protocol: 3 }),
    new Redis6(server.port, { protocol: 3, replyMapping: "resp3" } as never),
  ];
  try {
    const stores = clients.map((client) => new GenerationStore({ client: client as never }));
    for (const [index, writer] of stores.entries()) {
      const sid = `sid-${index}`;
      const { generation } = await writer.logoutEverywhere("mira");
      await server.root.set(
        `session:${sid}`,
        `mira,${generation},n=x,{"cookie":{"originalMaxAge":60000}}`,
        "PX",
        60_000,
      );
      for (const store of stores) {
        expect(await store.generation("mira")).toBe(generation);
        const data = await store.get(sid);
        expect(data).toMatchObject({ cookie: { originalMaxAge: 60_000 } });
        if (data !== null) await store.touch(sid, data);
        expect((await store.ids()).sort()).toEqual(Array.from({ length: index + 1 }, (_, at) => `sid-${at}`));
      }
    }
  } finally {
    for (const client of clients) client.disconnect();
  }
});
