import { spawn } from "node:child_process";
import { once } from "node:events";
import { beforeAll, expect, test } from "vitest";
import { sidOf, type TestApp, userOf } from "../support/app.js";
import { BUILD_TIMEOUT_MS, ensureBuilt, ROOT } from "../support/build.js";
import { contentOf, type FaultyServer, faultyApp, faultyServer } from "../support/faulty-server.js";
import { eventually, liveSidsOf } from "../support/records.js";

beforeAll(ensureBuilt, BUILD_TIMEOUT_MS);

async function journaled(): Promise<{ server: FaultyServer; app: TestApp; reapplied: string[] }> {
  const server = await faultyServer();
  const app = await faultyApp(server);
  const reapplied: string[] = [];
  app.store.on("reapplied", ({ what }: { what: string }) => reapplied.push(what));
  return { server, app, reapplied };
}

/** How long after the server was ready again the condition held. */
async function heldAfterMs(condition: () => Promise<boolean>): Promise<number> {
  const startedAtMs = performance.now();
  expect(await eventually(condition, 5_000)).toBe(true);
  return performance.now() - startedAtMs;
}

test("C31: Redis restarted from a dump taken before a log out everywhere: the session is dead again in a second", async () => {
  const { server, app, reapplied } = await journaled();
  const [device, other] = [await app.signedIn("mira"), await app.signedIn("noor")];
  const dump = await server.dump();
  const { generation } = await app.store.logoutEverywhere("mira");
  expect(await userOf(device)).toBeNull();
  await server.restartWith(dump);
  const deadAgain = async (): Promise<boolean> => {
    const page = await device.get("/me");
    return page.status === 200 && page.json()["user"] === null;
  };
  expect(await heldAfterMs(deadAgain)).toBeLessThan(1_200);
  await expect.poll(() => reapplied).toEqual(["generation"]);
  expect(await app.store.generation("mira")).toBe(generation);
  expect(await userOf(other)).toBe("noor");
  // Whoever signs in now is not disturbed by the journal.
  const anew = await app.signedIn("mira");
  await new Promise((resolve) => setTimeout(resolve, 1_300));
  expect(await userOf(anew)).toBe("mira");
});

test("C31: the same for a single logout, a new session ID, and a logout of others", async () => {
  const { server, app, reapplied } = await journaled();
  const [device, rotated, caller, stolen] = await Promise.all(
    ["u-1", "u-2", "u-3", "u-3"].map((user) => app.signedIn(user)),
  );
  if (device === undefined || rotated === undefined || caller === undefined || stolen === undefined) throw new Error();
  const [oldRotated, oldCaller, still] = [rotated.clone(), caller.clone(), await app.signedIn("u-1")];
  const dump = await server.dump();
  for (const [browser, path] of [
    [device.clone(), "/logout"],
    [rotated, "/rotate"],
    [caller, "/others"],
  ] as const) {
    expect((await browser.post(path)).status).toBe(200);
  }
  await server.restartWith(dump);
  const dead = [device, oldRotated, oldCaller, stolen].map((browser) => sidOf(browser));
  const areGone = async (): Promise<boolean> => {
    const live = await Promise.all(["u-1", "u-2", "u-3"].map((user) => liveSidsOf(server.root, user)));
    return !live.flat().some((sid) => dead.includes(sid));
  };
  expect(await heldAfterMs(areGone)).toBeLessThan(1_200);
  // A stale record is as good as gone; the journal deletes it a moment later.
  await expect.poll(() => [...reapplied].sort()).toEqual(["generation", "session", "session", "session"]);
  expect(await Promise.all([device, oldRotated, oldCaller, stolen].map(userOf))).toEqual([null, null, null, null]);
  expect(await userOf(still)).toBe("u-1");
});

test("C31: who signed in on the number that was lost is out with it", async () => {
  const { server, app, reapplied } = await journaled();
  await app.signedIn("mira");
  const dump = await server.dump();
  await app.store.logoutEverywhere("mira");
  // Another process is quicker to sign in than this one is to look.
  const slow = await faultyApp(server);
  await app.client.disconnect();
  await server.restartWith(dump);
  const thief = await slow.signedIn("mira");
  expect(await userOf(thief)).toBe("mira");
  await app.client.connect();
  expect(await heldAfterMs(async () => (await userOf(thief)) === null)).toBeLessThan(1_200);
  await expect.poll(() => reapplied).toEqual(["generation"]);
});

test("C31: a counter that was raised meanwhile is not lowered, one that is gone not created", async () => {
  const { server, app, reapplied } = await journaled();
  await app.signedIn("mira");
  await app.signedIn("noor");
  await app.store.logoutEverywhere("mira");
  await app.store.logoutEverywhere("noor");
  await app.client.set("user_login_age:mira", "999999999999999999");
  await app.client.del("user_login_age:noor");
  const before = await contentOf(server.root);
  await server.dump();
  await server.stop("SIGKILL");
  await server.start();
  await new Promise((resolve) => setTimeout(resolve, 1_300));
  expect(await contentOf(server.root)).toEqual(before);
  await server.restartWith(undefined);
  await new Promise((resolve) => setTimeout(resolve, 1_300));
  expect([await contentOf(server.root), reapplied]).toEqual([{}, []]);
});

test("C31: after a restore a new number is none that was handed out before", async () => {
  const { server, app } = await journaled();
  await app.signedIn("mira");
  const dump = await server.dump();
  let { store } = app;
  const numbers = new Set([await store.generation("mira")]);
  for (let rounds = 0; rounds < 5; rounds += 1) {
    numbers.add((await store.logoutEverywhere("mira")).generation);
    await store.close();
    const next = await faultyApp(server);
    await server.restartWith(dump);
    expect(await eventually(async () => (await next.browser().post("/login/warm-up")).status === 200)).toBe(true);
    const { generation } = await next.store.logoutEverywhere("mira");
    expect(numbers).not.toContain(generation);
    numbers.add(generation);
    store = next.store;
  }
});

test("C31: without a process that remembers, a restored dump revives the session; raising all counters ends it", async () => {
  const { server, app } = await journaled();
  const device = await app.signedIn("mira");
  const dump = await server.dump();
  await app.store.logoutEverywhere("mira");
  await app.store.close();
  const next = await faultyApp(server);
  await server.restartWith(dump);
  const revived = next.browser();
  for (const [name, value] of device.cookies) revived.cookies.set(name, value);
  expect(await eventually(async () => (await revived.get("/me")).status === 200)).toBe(true);
  // docs/operations.md says so, and what to do.
  expect(await userOf(revived)).toBe("mira");
  for (const key of await server.root.keys("user_login_age:*")) await server.root.incr(key);
  expect(await userOf(revived)).toBeNull();
});

test("C31: the journal does not keep a process alive", async () => {
  const server = await faultyServer();
  const script = `
    import { Redis } from "ioredis";
    import { GenerationStore } from "./dist/esm/index.js";
    const client = new Redis(${server.port});
    const store = new GenerationStore({ client });
    await store.logoutEverywhere("mira");
    await client.quit();
    console.log("done");`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  const startedAtMs = performance.now();
  const [code] = await once(child, "exit");
  expect(code).toBe(0);
  expect(performance.now() - startedAtMs).toBeLessThan(1_500);
});
