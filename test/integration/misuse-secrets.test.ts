import { inspect } from "node:util";
import type { SessionData } from "express-session";
import { expect, onTestFinished, test } from "vitest";
import { GenerationStore, type GenerationStoreOptions, loginOf } from "../../src/index.js";
import { sidOf, sleep, type TestApp, testApp } from "../support/app.js";
import { CLIENT_KIND, connect, freshClient } from "../support/clients.js";
import { startRedis } from "../support/redis-server.js";

// ioredis-mock has no ACL, no memory limit and no renamed commands; what it throws is still searched in the other tests.
const KIND = CLIENT_KIND === "mock" ? "ioredis5" : CLIENT_KIND;

const USER = "mallory-4711";
const SID = "tuvwxyz-0815";
const CONTENT = "hunter2-2342";
const SECRETS = [USER, SID, CONTENT, "cookie-key"];

const DATA = { cookie: { originalMaxAge: 60_000 }, note: CONTENT } as unknown as SessionData;

/** All text that an error, event or warning could put into a log. */
function textsOf(value: unknown): string {
  const shown = inspect(value, { depth: 10, getters: true });
  if (!(value instanceof Error)) return shown;
  return [shown, String(value), value.stack, JSON.stringify(value), textsOf(value.cause)].join("\n");
}

function expectNoSecrets(values: readonly unknown[], secrets: readonly string[] = SECRETS): void {
  for (const value of values) {
    const text = textsOf(value);
    for (const secret of secrets) expect(text).not.toContain(secret);
  }
}

/** Runs `act` and adds what is meanwhile emitted as a warning, or printed, to `found`. */
async function withOutput(found: unknown[], act: () => Promise<void>): Promise<void> {
  const onWarning = (warning: Error): void => {
    found.push(warning);
  };
  const { error, warn, log } = console;
  process.on("warning", onWarning);
  for (const name of ["error", "warn", "log"] as const)
    console[name] = (...args: unknown[]) => void found.push(...args);
  try {
    await act();
    await sleep(5);
  } finally {
    process.removeListener("warning", onWarning);
    Object.assign(console, { error, warn, log });
  }
}

/** Runs every operation there is and collects all failures and events. */
async function provoke(client: GenerationStoreOptions["client"]): Promise<unknown[]> {
  const store = new GenerationStore({ client, commandTimeoutMs: 150, touchIntervalMs: 0, maxSessionBytes: 2_000 });
  const found: unknown[] = [];
  for (const event of ["fenced", "corrupt", "unprotected", "logout"])
    store.on(event, (detail) => found.push(event, detail));
  const operations: (() => unknown)[] = [
    () => store.get(SID),
    () => store.set(SID, DATA),
    () => store.set(SID, { ...DATA, big: 1n } as unknown as SessionData),
    () => store.set(SID, { ...DATA, user: USER, large: CONTENT.repeat(200) } as unknown as SessionData),
    () => store.touch(SID, DATA),
    () => store.touch(SID, null as never),
    () => store.destroy(SID),
    () => store.all(),
    () => store.ids(),
    () => store.length(),
    () => store.clear(),
    () => store.beginLogin(USER),
    () => store.generation(USER),
    () => store.isCurrent({ userId: USER, generation: "1" }),
    () => store.logoutEverywhere(USER),
    () => store.logoutEverywhere(USER, { replicas: 1, timeoutMs: 20 }),
    () => store.readRequest({ headers: { cookie: `connect.sid=s:${SID}.x` } } as never, { secret: "cookie-key" }),
    () => store.beginLogin(`${USER}\ud83d`),
    () => store.beginLogin(USER.repeat(100)),
    () => store.resumeLogin(`attempt1,${USER},x`),
    () => store.login({ sessionID: SID, session: DATA } as never, USER),
    () => store.logoutEverywhere(USER, { reason: 5, [USER.slice(0, 2)]: 1 } as never),
  ];
  await withOutput(found, async () => {
    for (const operation of operations) {
      try {
        await operation();
      } catch (error) {
        found.push(error);
      }
    }
  });
  await store.close();
  return found;
}

const SERVERS: Readonly<Record<string, { args?: readonly string[]; prepare?: (port: number) => Promise<void> }>> = {
  "keys of the wrong type": {
    prepare: async (port) => {
      const client = connect(port, {}, KIND);
      await client.lpush(`session:${SID}`, CONTENT);
      await client.lpush(`user_login_age:${USER}`, CONTENT);
      client.disconnect();
    },
  },
  "a full server (OOM)": { args: ["--maxmemory", "1", "--maxmemory-policy", "noeviction"] },
  "no EVALSHA": { args: ["--rename-command", "EVALSHA", ""] },
  "no EVAL and no MGET": { args: ["--rename-command", "EVAL", "", "--rename-command", "MGET", ""] },
  "no commands at all": {
    args: ["evalsha", "mget", "get", "del", "unlink", "scan", "pexpire"].flatMap((name) => [
      "--rename-command",
      name,
      "",
    ]),
  },
  "a replica": { args: ["--replicaof", "127.0.0.1", "1"] },
};

test.each(Object.keys(SERVERS))(
  "G9: no session ID, user ID or content in any error, event or warning: %s",
  async (name) => {
    const { args = [], prepare } = SERVERS[name] ?? {};
    const server = await startRedis(args);
    onTestFinished(() => server.dispose());
    await prepare?.(server.port);
    const client = connect(server.port, {}, KIND);
    onTestFinished(() => client.disconnect());
    client.on("error", () => undefined);
    const found = await provoke(client);
    expect(found.filter((each) => each instanceof Error).length).toBeGreaterThan(5);
    expectNoSecrets(found);
  },
);

test.each([
  ["no commands", ["+@connection", "+info", "-@scripting", "-@string"]],
  ["no scripts", ["+@all", "-evalsha", "-eval"]],
  ["other keys only", ["resetkeys", "~other:*", "+@all"]],
  ["no writes inside scripts", ["+@all", "-set", "-del", "-pexpire"]],
])("G9: nothing leaks when the ACL refuses: %s", async (_what, rules) => {
  const server = await startRedis();
  onTestFinished(() => server.dispose());
  const admin = connect(server.port, {}, KIND);
  await admin.call("ACL", "SETUSER", "limited", "on", "nopass", "~*", ...rules);
  admin.disconnect();
  const client = connect(server.port, { username: "limited", password: "any" }, KIND);
  onTestFinished(() => client.disconnect());
  client.on("error", () => undefined);
  const found = await provoke(client);
  expect(found).toContainEqual(expect.objectContaining({ code: "ERR_REDIS_REPLY", status: 503 }));
  expectNoSecrets(found);
});

test("G9: the receipt of an unconfirmed logout is for the program, not for its log", async () => {
  const store = new GenerationStore({ client: await freshClient() });
  const failure: unknown = await store
    .logoutEverywhere(USER, { replicas: 1, timeoutMs: 10 })
    .catch((error: unknown) => error);
  expect((failure as { receipt?: unknown }).receipt).toMatchObject({ userId: USER, replicas: 0 });
  expectNoSecrets([failure]);
});

test("G9: nothing leaks from a closed connection, a server that vanishes, one that never answers, or nonsense replies", async () => {
  const closed = await freshClient();
  closed.disconnect();
  expectNoSecrets(await provoke(closed));

  const server = await startRedis();
  onTestFinished(() => server.dispose());
  const vanished = connect(server.port, { retryStrategy: () => 50 }, KIND);
  onTestFinished(() => vanished.disconnect());
  vanished.on("error", () => undefined);
  await vanished.ping();
  await server.stop("SIGKILL");
  expectNoSecrets(await provoke(vanished));

  for (const reply of [5, null, "text", [], [9, SID], { [SID]: USER }, [[null, [USER]]], new Error(`ERR ${SID}`)]) {
    const answer = (): Promise<unknown> => (reply instanceof Error ? Promise.reject(reply) : Promise.resolve(reply));
    const broken = await freshClient();
    for (const method of ["get", "mget", "del", "pexpire", "pexpireat", "eval", "evalsha"] as const)
      broken[method] = answer as never;
    broken.pipeline = (() => ({ exec: answer })) as never;
    const found = await provoke(broken);
    if (!(reply instanceof Error)) expectNoSecrets(found);
  }
});

test("G9: error replies that quote their arguments are cut", async () => {
  const quoting = [
    `ERR unknown command 'evalsha', with args beginning with: '${SID}' '${USER}'`,
    `ERR Error running script: user_script:1: '${USER}'`,
    `NOPERM No permissions to access the '${SID}' key`,
    `MOVED 1 "${SID}"`,
    `WRONGTYPE \`${SID}\``,
  ];
  for (const message of quoting) {
    const client = await freshClient();
    const refuse = (): Promise<never> =>
      Promise.reject(Object.assign(new Error(message), { command: { args: [SID, USER] } }));
    for (const method of ["get", "mget", "del", "pexpire", "pexpireat", "eval", "evalsha"] as const)
      client[method] = refuse as never;
    client.pipeline = (() => ({ exec: refuse })) as never;
    expectNoSecrets(await provoke(client));
  }
});

/** What reached the error handler and the client while the application was used in ways that fail. */
async function failingApp(): Promise<{ app: TestApp; shown: unknown[]; secrets: string[] }> {
  const app = await testApp({ store: { commandTimeoutMs: 1_000 } });
  const device = await app.signedIn(USER);
  const sid = sidOf(device);
  const generation = await app.store.generation(USER);
  const shown: unknown[] = [];
  app.store.on("fenced", (event) => shown.push(event));
  app.store.on("corrupt", (event) => shown.push(event));
  app.store.on("logout", (event) => shown.push(event));
  await device.post("/set/note/x");
  await app.client.set(`session:${sid}`, `${USER},${generation},,{${CONTENT}`, "EX", 100);
  shown.push((await device.get("/me")).text);
  await app.store.logoutEverywhere(USER, { reason: "password changed" });
  app.client.disconnect();
  for (const path of ["/me", "/set/a/1", "/login/other", "/rotate", "/logout", "/everywhere", "/others"]) {
    const page = await device.clone().send(path === "/me" ? "GET" : "POST", path);
    shown.push(page.text, [...page.headers]);
  }
  return { app, shown, secrets: [USER, sid, CONTENT] };
}

test("G9: nothing leaks into responses, the error handler or events of a real application", async () => {
  const found: unknown[] = [];
  let secrets: readonly string[] = [];
  await withOutput(found, async () => {
    const failed = await failingApp();
    secrets = failed.secrets;
    expect(failed.app.errors.length).toBeGreaterThan(0);
    found.push(...failed.app.errors, ...failed.shown);
  });
  expectNoSecrets(found, secrets);
});

test("G9: the userId option's own errors, which may quote the session, are not passed on", async () => {
  const client = await freshClient();
  const store = new GenerationStore({
    client,
    userId: (session) => {
      throw new Error(`cannot read ${JSON.stringify(session)} of ${SID}`);
    },
  });
  const found: unknown[] = [];
  store.on("corrupt", (event) => found.push(event));
  await withOutput(found, async () => {
    await store.set(SID, DATA).catch((error: unknown) => found.push(error));
    await client.set(`session:${SID}`, `,,n=x,${JSON.stringify({ cookie: {}, note: CONTENT })}`);
    expect(await store.get(SID)).toBeNull();
  });
  expect(found).toHaveLength(2);
  expectNoSecrets(found);
});

test("R-G6: the cookie carries the random ID only, and a stored login is not visible on the session object", async () => {
  const { signedIn, store } = await testApp();
  const device = await signedIn(USER);
  expect(decodeURIComponent(device.cookies.get("connect.sid") ?? "")).toMatch(/^s:[\w-]{32}\.[\w+/]{43}$/);
  const read = await store.get(sidOf(device));
  expect(loginOf(read)?.userId).toBe(USER);
  expect(JSON.stringify(read)).not.toContain(USER);
});
