import { readFileSync } from "node:fs";
import { type ClusterOptions, Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { GenerationStore, idempotency, submitTokens } from "../../src/index.js";
import { keySlot } from "../../src/redis/key-slot.js";
import { userOf } from "../support/app.js";
import type { Browser } from "../support/browser.js";
import { type ClusterApp, clusterApp, clusterClient } from "../support/cluster-app.js";
import { type ClusterNode, startCluster, type TestCluster } from "../support/redis-cluster.js";
import { submit, TOKEN_SECRET, tokenFor } from "../support/token-app.js";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster?.dispose());

/** All that a user does, from the first login to being out everywhere. */
async function live({ signedIn, browser }: ClusterApp, user: string): Promise<void> {
  const device = await signedIn(user);
  const other = await signedIn(user);
  const answers: [what: string, status: number][] = [];
  const did = async (what: string, page: Promise<{ status: number }>): Promise<void> => {
    answers.push([what, (await page).status]);
  };
  await did("save", device.post("/set/colour/blue"));
  await did("rotate", device.post("/rotate"));
  const token = await tokenFor(device);
  await did("submit", submit(device, token));
  await did("submit again", submit(device, token));
  const key = { "idempotency-key": `pay-${user.length}-${encodeURIComponent(user)}` };
  await did("pay", device.post("/pay", {}, key));
  await did("pay again", device.post("/pay", {}, key));
  await did("others", device.post("/others"));
  expect(answers).toEqual([
    ["save", 200],
    ["rotate", 200],
    ["submit", 200],
    ["submit again", 409],
    ["pay", 201],
    ["pay again", 201],
    ["others", 200],
  ]);
  expect([await userOf(device), await userOf(other)]).toEqual([user, null]);
  expect((await device.get("/me")).json()["data"]).toEqual({ colour: "blue" });
  const third: Browser = await signedIn(user);
  await third.post("/logout");
  expect([await userOf(device), await userOf(third)]).toEqual([user, null]);
  await device.post("/everywhere");
  expect([await userOf(device), await userOf(browser())]).toEqual([null, null]);
}

async function inParallel<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** THOROUGH=1 plays all, a plain run a quarter. */
const USERS = process.env["THOROUGH"] === "1" ? 1_000 : 250;

test("C25: users over all slots: every flow, and no CROSSSLOT, MOVED or non-local key", async () => {
  const app = await clusterApp(cluster, { store: { touchIntervalMs: 0 } });
  const users = Array.from({ length: USERS }, (_, n) => `user-${n}`);
  await inParallel(users, 32, (user) => live(app, user));
  expect([app.errors, app.runs(), app.payments()]).toEqual([[], USERS, USERS]);
  expect(new Set(users.map((user) => Math.floor(keySlot(`user_login_age:${user}`) / 1_024))).size).toBe(16);
  // Errors by kind, as the nodes count them since they were started. ERR: ioredis calls itself by name, which Redis 7.0 does not know.
  for (const { root } of await cluster.primaries()) {
    expect(await root.info("errorstats")).not.toMatch(/CROSSSLOT|MOVED|ASK/);
  }
});

test.each(["{}z}", "a{}b}c", "}{", "{a}{b}", "{{a}}", "{x", "x}", "zoë", "1,2", "*?[a]\\"])(
  "C26: every flow works for the user ID %s",
  async (user) => {
    await live(await clusterApp(cluster), user);
  },
);

test("C26: every flow works with session IDs that have braces", async () => {
  let n = 0;
  const genid = (): string => `{}${(n++).toString(36)}}{x}`;
  const app = await clusterApp(cluster, { session: { genid } });
  await inParallel(
    Array.from({ length: 20 }, (_, user) => `braces-${user}`),
    10,
    (user) => live(app, user),
  );
  expect(app.errors).toEqual([]);
});

test.each([
  ["in redisOptions", "{app}:", { redisOptions: { keyPrefix: "{app}:" } }],
  ["of the cluster", "app:", { keyPrefix: "app:" }],
])("C27: a keyPrefix %s stands before every key, once", async (_where, prefix, clientOptions) => {
  await Promise.all((await cluster.primaries()).map(({ root }) => root.flushall()));
  const app = await clusterApp(cluster, { clientOptions });
  await live(app, "100");
  await app.signedIn("100");
  const keys = (await Promise.all((await cluster.primaries()).map(({ root }) => root.keys("*")))).flat();
  expect(keys.length).toBeGreaterThan(2);
  expect(keys.filter((key) => !key.startsWith(prefix) || key.startsWith(prefix + prefix))).toEqual([]);
  expect(await app.store.length()).toBe((await app.store.ids()).length);
  await app.store.clear();
  expect(await app.store.ids()).toEqual([]);
  const counter = new Redis((await cluster.primaryOf(`${prefix}user_login_age:100`)).server.port);
  expect(await counter.get(`${prefix}user_login_age:100`)).toMatch(/^\d+$/);
  counter.disconnect();
});

test("all(), ids(), length() and clear() go over all primaries", async () => {
  await Promise.all((await cluster.primaries()).map(({ root }) => root.flushall()));
  const { store, signedIn, client } = await clusterApp(cluster);
  const users = Array.from({ length: 60 }, (_, n) => `list-${n}`);
  await inParallel(users, 10, async (user) => void (await signedIn(user)));
  await store.logoutEverywhere("list-0");
  expect([await store.length(), (await store.ids()).length, (await store.all()).length]).toEqual([60, 60, 59]);
  const onEach = await Promise.all(client.nodes("master").map((node) => node.keys("session:*")));
  expect(onEach.every((keys) => keys.length > 0)).toBe(true);
  await store.clear();
  expect([await store.length(), await client.exists("user_login_age:list-1")]).toEqual([0, 1]);
});

/** Calls of the commands that the store itself sends, per node. */
async function calls({ root }: ClusterNode): Promise<Record<string, number>> {
  const stats = await root.info("commandstats");
  return Object.fromEntries(
    [...stats.matchAll(/^cmdstat_(mget|evalsha|pexpire|get):calls=(\d+)/gm)].map(([, name, n]) => [name, Number(n)]),
  );
}

test("a read with a hint asks both nodes once, at the same time; one without, one after the other", async () => {
  const { store, client, signedIn } = await clusterApp(cluster);
  const other = (await clusterApp(cluster)).store;
  const { cookies } = await signedIn("trips");
  const sid = decodeURIComponent(cookies.get("connect.sid") ?? "").slice(2, 34);
  const count = async (read: () => Promise<unknown>): Promise<number> => {
    await Promise.all(cluster.nodes.map(({ root }) => root.config("RESETSTAT")));
    expect(await read()).toMatchObject({ cookie: {} });
    const all = await Promise.all(cluster.nodes.map(calls));
    expect(all.flatMap((node) => Object.keys(node)).filter((name) => name !== "mget")).toEqual([]);
    return all.reduce((sum, { mget = 0 }) => sum + mget, 0);
  };
  await store.get(sid);
  // Both keys at once: held back at the record's node, the counter's has been asked.
  expect(await count(() => store.get(sid))).toBe(2);
  expect(await count(() => other.get(sid))).toBe(2);
  const node = await cluster.primaryOf(`session:${sid}`);
  const counterNode = await cluster.primaryOf("user_login_age:trips");
  expect(await client.exists(`session:${sid}`)).toBe(1);
  if (node.id === counterNode.id) return;
  for (const [reader, asked] of [
    [store, 1],
    [(await clusterApp(cluster)).store, 0],
  ] as const) {
    await reader.get("warm-up").catch(() => undefined);
    await counterNode.root.config("RESETSTAT");
    node.server.signal("SIGSTOP");
    const read = reader.get(sid);
    await expect.poll(async () => (await calls(counterNode))["mget"] ?? 0, { timeout: 300 }).toBe(asked);
    node.server.signal("SIGCONT");
    expect(await read).toMatchObject({ cookie: {} });
  }
});

test("reads of one moment share a command per node, or as many as they have keys in one pipeline", async () => {
  const { store, client, signedIn } = await clusterApp(cluster);
  const sids: string[] = [];
  await inParallel(
    Array.from({ length: 30 }, (_, n) => `gather-${n}`),
    10,
    async (user) => {
      const { cookies } = await signedIn(user);
      sids.push(decodeURIComponent(cookies.get("connect.sid") ?? "").slice(2, 34));
    },
  );
  await Promise.all(sids.map((sid) => store.get(sid)));
  let writes = 0;
  for (const node of client.nodes("master")) {
    const { stream } = node as unknown as { stream: { write: (...args: unknown[]) => unknown } };
    const write = stream.write.bind(stream);
    stream.write = (...args) => {
      writes += 1;
      return write(...args);
    };
  }
  const found = await Promise.all(sids.map((sid) => store.get(sid)));
  expect([found.filter((data) => data !== null).length, writes]).toEqual([30, 3]);
});

test.each([
  ["scaleReads: slave", { scaleReads: "slave" }, /option scaleReads/],
  ["scaleReads: all", { scaleReads: "all" }, /option scaleReads/],
  ["a function for scaleReads", { scaleReads: (nodes: unknown[]) => nodes[0] }, /option scaleReads/],
  ["readOnly connections", { redisOptions: { readOnly: true } }, /option readOnly/],
] as const)("C32: misuse: a cluster client with %s is a TypeError at once", (_what, options, message) => {
  const client = clusterClient(cluster, { ...(options as ClusterOptions), lazyConnect: true });
  for (const make of [
    () => new GenerationStore({ client }),
    () => submitTokens({ client, secret: TOKEN_SECRET }),
    () => idempotency({ client }),
  ]) {
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  }
});

test("C36: an ACL user with the documented rights and those a cluster needs besides is enough", async () => {
  const pages = ["../../docs/redis-keys.md", "../../docs/deployment.md"].map((page) =>
    readFileSync(new URL(page, import.meta.url), "utf8"),
  );
  const lines = pages.map((page) => /ACL SETUSER sessions (.*)$/m.exec(page)?.[1] ?? "");
  for (const { root } of cluster.nodes) {
    for (const line of lines) await root.call("ACL", "SETUSER", "sessions", ...line.split(" "));
    await root.acl("LOG", "RESET");
  }
  const app = await clusterApp(cluster, {
    clientOptions: { redisOptions: { username: "sessions", password: "password" } },
  });
  const [device, other] = [await app.signedIn("rights"), await app.signedIn("rights")];
  await device.post("/set/a/1");
  await device.post("/rotate");
  await device.post("/others");
  expect([await userOf(device), await userOf(other)]).toEqual(["rights", null]);
  expect((await app.store.logoutEverywhere("rights", { replicas: 1 })).replicas).toBe(1);
  expect((await app.store.ids()).length).toBeGreaterThan(0);
  // ioredis says who it is; it goes on without.
  for (const { root } of cluster.nodes) {
    const denied = ((await root.acl("LOG")) as string[][]).map((entry) => entry[entry.indexOf("object") + 1]);
    expect(denied.filter((object) => !object?.startsWith("client"))).toEqual([]);
  }
});

test("C26: braces or not, keys are looked for where the server has them", async () => {
  const [node] = await cluster.primaries();
  for (let n = 0; n < 300; n += 1) {
    const key = Array.from({ length: 8 }, () => "{}abcé😀:"[Math.floor(Math.random() * 8)] ?? "x").join("");
    expect([key, keySlot(key)]).toEqual([key, Number(await node?.root.cluster("KEYSLOT", key))]);
  }
});
