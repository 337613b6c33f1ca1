import { expect, onTestFinished, test } from "vitest";
import type { RedisClient } from "../../src/index.js";
import { GenerationStore, LogoutUnconfirmedError } from "../../src/index.js";
import { sidOf, userOf } from "../support/app.js";
import { connect, freshDatabase } from "../support/clients.js";
import { faultyApp, faultyServer, replicaOf } from "../support/faulty-server.js";
import { eventually, liveSidsOf } from "../support/records.js";

async function failureOf(promise: Promise<unknown>): Promise<LogoutUnconfirmedError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof LogoutUnconfirmedError)) throw new Error("it should have been unconfirmed", { cause: error });
  return error;
}

test("G8: a logout that a replica has acknowledged is on that replica", async () => {
  const primary = await faultyServer();
  const replica = await replicaOf(primary);
  const app = await faultyApp(primary);
  for (let round = 0; round < 20; round += 1) {
    const device = await app.signedIn("mira");
    const receipt = await app.store.logoutEverywhere("mira", { replicas: 1 });
    expect(receipt).toMatchObject({ userId: "mira", replicas: 1 });
    expect(await replica.root.get("user_login_age:mira")).toBe(receipt.generation);
    expect(await userOf(device)).toBeNull();
  }
  expect(app.events).toEqual(Array.from({ length: 20 }, () => "logout:everywhere"));
});

test("G8: with the replica hung, a logout is unconfirmed within its time, and pages are not held up", async () => {
  const primary = await faultyServer();
  const replica = await replicaOf(primary);
  const app = await faultyApp(primary);
  const [device, visitor] = [await app.signedIn("mira"), await app.signedIn("noor")];
  await app.store.logoutEverywhere("warm-up", { replicas: 1 });
  replica.signal("SIGSTOP");

  const startedAtMs = performance.now();
  const failing = failureOf(app.store.logoutEverywhere("mira", { replicas: 1, timeoutMs: 600 }));
  let slowestMs = 0;
  while (performance.now() - startedAtMs < 500) {
    const askedAtMs = performance.now();
    expect(await userOf(visitor)).toBe("noor");
    slowestMs = Math.max(slowestMs, performance.now() - askedAtMs);
  }
  const error = await failing;
  const tookMs = performance.now() - startedAtMs;
  expect(tookMs).toBeGreaterThan(590);
  expect(tookMs).toBeLessThan(900);
  expect(slowestMs).toBeLessThan(250);
  expect(error).toMatchObject({ code: "ERR_LOGOUT_UNCONFIRMED", status: 503 });
  expect(error.receipt).toMatchObject({ userId: "mira", replicas: 0 });
  expect(error.receipt?.generation).toBe(await app.store.generation("mira"));
  // It did take effect; only that it lasts is not certain.
  expect(await userOf(device)).toBeNull();
  expect(app.events).toEqual(["logout:everywhere"]);

  replica.signal("SIGCONT");
  expect(await app.store.logoutEverywhere("mira", { replicas: 1, timeoutMs: 5_000 })).toMatchObject({ replicas: 1 });
});

test("G8: who waits long for replicas holds up no other logout", async () => {
  const primary = await faultyServer();
  await replicaOf(primary);
  const app = await faultyApp(primary);
  await app.store.logoutEverywhere("warm-up", { replicas: 1 });
  const patient = failureOf(app.store.logoutEverywhere("patient", { replicas: 2, timeoutMs: 2_000 }));
  let isOver = false;
  void patient.then(() => {
    isOver = true;
  });
  // Its WAIT is under way when the others come.
  await new Promise((resolve) => setTimeout(resolve, 150));
  const others = Array.from({ length: 50 }, (_, index) => app.store.logoutEverywhere(`u-${index}`, { replicas: 1 }));
  expect((await Promise.all(others)).map(({ replicas }) => replicas)).toEqual(Array.from({ length: 50 }, () => 1));
  expect(isOver).toBe(false);
  const error = await patient;
  expect(error.message).toContain("only 1 of 2 replicas");
  expect(error.receipt).toMatchObject({ userId: "patient", replicas: 1 });
});

test("G8: logoutOthers moves this device before it waits for replicas", async () => {
  const primary = await faultyServer();
  const replica = await replicaOf(primary);
  const app = await faultyApp(primary, {
    routes: (express, store) => {
      express.post("/others-replicated", async (req, res) => {
        await store.logoutOthers(req, { replicas: 1, timeoutMs: 600 });
        res.json({});
      });
    },
  });
  const [device, other] = [await app.signedIn("mira"), await app.signedIn("mira")];
  const oldSid = sidOf(device);
  await app.store.logoutEverywhere("warm-up", { replicas: 1 });
  replica.signal("SIGSTOP");
  onTestFinished(() => replica.signal("SIGCONT"));
  let isAnswered = false;
  const answer = device.post("/others-replicated").finally(() => {
    isAnswered = true;
  });
  const movedSids = async (): Promise<string[]> => {
    const sids = await liveSidsOf(primary.root, "mira");
    return sids.filter((sid) => sid !== oldSid);
  };
  expect(await eventually(async () => (await movedSids()).length === 1)).toBe(true);
  // Were it not moved yet, a read with the old cookie would leave its record ten seconds to live, whatever the waiting time.
  expect(isAnswered).toBe(false);
  const page = await answer;
  expect([page.status, page.json()]).toEqual([503, { code: "ERR_LOGOUT_UNCONFIRMED" }]);
  expect([sidOf(device)]).toEqual(await movedSids());
  expect([await userOf(device), await userOf(other)]).toEqual(["mira", null]);
});

test("G8: replicas are counted on the connection that made the write, also when it broke in between", async () => {
  const primary = await faultyServer();
  const replica = await replicaOf(primary);
  const app = await faultyApp(primary);
  await app.store.logoutEverywhere("warm-up", { replicas: 1 });
  replica.signal("SIGSTOP");
  onTestFinished(() => replica.signal("SIGCONT"));
  const failing = failureOf(app.store.logoutEverywhere("mira", { replicas: 1, timeoutMs: 500 }));
  for (let cuts = 0; cuts < 4; cuts += 1) {
    await new Promise((resolve) => setTimeout(resolve, 80));
    // A new connection has written nothing yet: a bare WAIT on it would count the hung replica.
    await primary.root.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
  }
  expect((await failing).receipt).toMatchObject({ replicas: 0 });
});

test("G8: timeoutMs 0 is misuse, and nothing is raised", async () => {
  const app = await faultyApp(await faultyServer());
  for (const options of [{ timeoutMs: 0 }, { replicas: 1, timeoutMs: 0 }, { replicas: -1 }, { replicas: 1.5 }]) {
    await expect(app.store.logoutEverywhere("mira", options)).rejects.toThrow(TypeError);
  }
  expect(await app.client.dbsize()).toBe(0);
});

test("G8: a client that cannot wait for replicas logs out, and says that it is not certain", async () => {
  const { port, db } = await freshDatabase();
  const mock = connect(port, { db }, "mock") as unknown as RedisClient;
  const store = new GenerationStore({ client: mock, commandTimeoutMs: 300 });
  onTestFinished(() => store.close());
  const { generation } = await store.logoutEverywhere("mira");
  const error = await failureOf(store.logoutEverywhere("mira", { replicas: 1, timeoutMs: 50 }));
  expect(error.cause).toMatchObject({ status: 503 });
  expect(error.receipt?.generation).toBe(await store.generation("mira"));
  expect(error.receipt?.generation).not.toBe(generation);
});

test("G8: the connection for replicas recovers after Redis was away, and close() ends a wait", async () => {
  const primary = await faultyServer();
  await replicaOf(primary);
  const app = await faultyApp(primary, { client: { retryStrategy: (times) => (times > 3 ? null : 20) } });
  await app.store.logoutEverywhere("mira", { replicas: 1 });
  await primary.root.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
  expect(await app.store.logoutEverywhere("mira", { replicas: 1, timeoutMs: 3_000 })).toMatchObject({ replicas: 1 });
  const failing = failureOf(app.store.logoutEverywhere("mira", { replicas: 9, timeoutMs: 60_000 }));
  await new Promise((resolve) => setTimeout(resolve, 100));
  await app.store.close();
  expect((await failing).cause).toMatchObject({
    code: expect.stringMatching(/^ERR_(STORE_CLOSED|REDIS_UNAVAILABLE)$/),
  });
});
