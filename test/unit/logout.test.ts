import { expect, test } from "vitest";
import { RedisError } from "../../src/errors.js";
import type { Mark } from "../../src/redis/replicated-connection.js";
import { Generations } from "../../src/session/generations.js";
import { Logout } from "../../src/session/logout.js";
import { bindData, newBinding } from "../../src/session/session-binding.js";
import { StoreEvents } from "../../src/session/store-events.js";
import { PlayedConnection } from "../support/played-connection.js";

const MIRA = { userId: "mi,ra", userText: "mi%2Cra", generation: "7", at: 1_700_000_000_000 };

class PlayedStore {
  readonly redis = new PlayedConnection();
  /** What was done, in order. */
  readonly done: (readonly [what: string, ...args: unknown[]])[] = [];
  acknowledge: (mark: Mark) => Promise<number> = async () => 2;
  moveFailure: Error | undefined;

  constructor() {
    this.redis.replies["raise-generation"] = { kind: "raised", generation: "9" };
  }

  readonly logout = new Logout({
    generations: new Generations(this.redis.asRedis, "user:", 1_000),
    flow: {
      move: async (_req: object, old: { sid: string }, login: object) => {
        this.done.push(["move", old.sid, login]);
        if (this.moveFailure !== undefined) throw this.moveFailure;
      },
    } as never,
    replication: {
      acknowledged: (mark: Mark, replicas: number, timeoutMs: number) => {
        this.done.push(["wait", replicas, timeoutMs]);
        return this.acknowledge(mark);
      },
    } as never,
    journal: { noteRaise: (...args: string[]) => this.done.push(["note", ...args]) } as never,
    events: new StoreEvents((name, event) => this.done.push([name, event])),
  });

  /** A request as the mount leaves it, of this login. */
  request(login: typeof MIRA | undefined, headersSent = false): never {
    const session = {};
    bindData(session, { ...newBinding("sid"), kind: "loaded", login });
    return { session, sessionID: "sid", res: { headersSent } } as never;
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("R-G3: a logout everywhere raises the generation, is noted and told", async () => {
  const { logout, redis, done } = new PlayedStore();
  const receipt = await logout.everywhere("mi,ra", { reason: "x".repeat(201) });
  await turn();
  expect(receipt).toEqual({ userId: "mi,ra", generation: "9", replicas: 0 });
  expect(redis.asked).toEqual([expect.stringMatching(/^raise-generation user:mi%2Cra "\d+" "1000" ""$/)]);
  const event = { scope: "everywhere", generation: "9", replicas: 0, reason: "x".repeat(200) };
  expect(done).toEqual([
    ["note", "mi%2Cra", "9"],
    ["logout", event],
  ]);
});

test("G8: replicas are waited for, with a second of time unless told otherwise", async () => {
  const { logout, done } = new PlayedStore();
  expect(await logout.everywhere("mira", { replicas: 2 })).toMatchObject({ replicas: 2 });
  await logout.everywhere("mira", { replicas: 1, timeoutMs: 60_000 });
  await turn();
  expect(done.filter(([what]) => what === "wait")).toEqual([
    ["wait", 2, 1_000],
    ["wait", 1, 60_000],
  ]);
  expect(done).toContainEqual(["logout", { scope: "everywhere", generation: "9", replicas: 2, reason: undefined }]);
});

test("G8: what is waited for is the number written once more; if Redis has lost it, the logout is unconfirmed", async () => {
  const store = new PlayedStore();
  const other = new PlayedConnection();
  store.acknowledge = async (mark) => {
    await mark(other.asRedis);
    return 1;
  };
  other.replies["restore-generation"] = "rewritten";
  expect(await store.logout.everywhere("mira", { replicas: 1 })).toMatchObject({ replicas: 1 });
  expect(other.asked).toEqual(['restore-generation user:mira "9" "1"']);
  other.replies["restore-generation"] = "unchanged";
  await expect(store.logout.everywhere("mira", { replicas: 1 })).rejects.toMatchObject({
    code: "ERR_LOGOUT_UNCONFIRMED",
    message: "The logout took effect, but whether the replicas have it could not be learned; repeat it",
    receipt: { userId: "mira", generation: "9", replicas: 0 },
    cause: { code: "ERR_REDIS_REPLY", outcome: "refused", message: expect.stringMatching(/lost the generation/) },
  });
});

test("G8: fewer replicas than asked is unconfirmed, with a receipt and without an event", async () => {
  const { logout, done } = new PlayedStore();
  await expect(logout.everywhere("mira", { replicas: 3 })).rejects.toMatchObject({
    code: "ERR_LOGOUT_UNCONFIRMED",
    message: "The logout took effect, but only 2 of 3 replicas acknowledged it in time; repeat it",
    receipt: { userId: "mira", generation: "9", replicas: 2 },
  });
  await turn();
  expect(done.map(([what]) => what)).toEqual(["note", "wait"]);
});

test("G8: a raise without an answer is unconfirmed and not noted; a closed store says so itself", async () => {
  const { logout, redis, done } = new PlayedStore();
  const lost = new RedisError("ERR_REDIS_TIMEOUT", "unknown", "no answer");
  redis.replies["raise-generation"] = lost;
  await expect(logout.everywhere("mira", {})).rejects.toMatchObject({
    code: "ERR_LOGOUT_UNCONFIRMED",
    message: "It is not certain that the logout took effect; repeat it",
    cause: lost,
    receipt: undefined,
  });
  const closed = new RedisError("ERR_STORE_CLOSED", "not-sent", "closed");
  redis.replies["raise-generation"] = closed;
  await expect(logout.everywhere("mira", {})).rejects.toBe(closed);
  redis.replies["raise-generation"] = Object.assign(new Error("no error of ours"), { code: "ERR_STORE_CLOSED" });
  await expect(logout.everywhere("mira", {})).rejects.toMatchObject({ code: "ERR_LOGOUT_UNCONFIRMED" });
  expect(done).toEqual([]);
});

test("G6: logging out others demands the own generation, moves this device to the new one, then waits", async () => {
  const store = new PlayedStore();
  const receipt = await store.logout.others(store.request(MIRA), { replicas: 1, reason: "stolen" });
  await turn();
  expect(receipt).toEqual({ userId: "mi,ra", generation: "9", replicas: 2 });
  expect(store.redis.asked).toEqual([expect.stringMatching(/^raise-generation user:mi%2Cra "\d+" "1000" "7"$/)]);
  expect(store.done).toEqual([
    ["note", "mi%2Cra", "9"],
    ["move", "sid", { ...MIRA, generation: "9" }],
    ["wait", 1, 1_000],
    ["logout", { scope: "others", generation: "9", replicas: 2, reason: "stolen" }],
  ]);
});

test("G6: others are out also if this device cannot be moved, and the event says that it is out too", async () => {
  const store = new PlayedStore();
  store.moveFailure = new Error("not moved");
  await expect(store.logout.others(store.request(MIRA), { reason: "stolen" })).rejects.toBe(store.moveFailure);
  await turn();
  expect(store.done.at(-1)).toEqual([
    "logout",
    { scope: "everywhere", generation: "9", replicas: 0, reason: "stolen" },
  ]);
});

test("G6: nothing is raised for a request that is anonymous, has answered, or is no request", async () => {
  const store = new PlayedStore();
  await expect(store.logout.others(store.request(undefined), {})).rejects.toMatchObject({
    code: "ERR_NOT_LOGGED_IN",
    message: "logoutOthers needs a request that is logged in; this one is anonymous",
  });
  await expect(store.logout.others(store.request(MIRA, true), {})).rejects.toMatchObject({ code: "ERR_HEADERS_SENT" });
  await expect(store.logout.others({} as never, {})).rejects.toThrow(/^logoutOthers: expected a request/);
  expect([store.redis.asked, store.done]).toEqual([[], []]);
  store.redis.replies["raise-generation"] = { kind: "superseded" };
  await expect(store.logout.others(store.request(MIRA), {})).rejects.toMatchObject({
    code: "ERR_LOGIN_SUPERSEDED",
    message: expect.stringMatching(/^This login has itself been logged out/),
  });
  expect(store.done).toEqual([]);
});

test("G6: two presses at once on one request happen one after the other", async () => {
  const store = new PlayedStore();
  const req = store.request(MIRA);
  await Promise.all([store.logout.others(req, {}), store.logout.others(req, {})]);
  const steps = store.done.map(([what]) => what);
  expect(steps.filter((what) => what !== "logout")).toEqual(["note", "move", "note", "move"]);
});

test("misuse: a request that loses its session while it waits for its turn", async () => {
  const store = new PlayedStore();
  const req: { session?: object } = store.request(MIRA);
  const answer = store.logout.others(req as never, {});
  delete req.session;
  await expect(answer).rejects.toThrow(/^logoutOthers: expected a request with a session/);
  expect(store.redis.asked).toEqual([]);
});

test.each([
  [{ replicas: -1 }, /replicas: expected an integer number of replicas from 0 to 100, got -1$/],
  [{ replicas: 101 }, /replicas: /],
  [{ timeoutMs: 0 }, /timeoutMs: expected an integer number of milliseconds from 1 to 60000, got 0$/],
  [{ timeoutMs: 60_001 }, /timeoutMs: /],
  [{ reason: "" }, /reason: /],
  [{ replica: 1 }, /unknown option "replica"; known are replicas, timeoutMs, reason$/],
])("misuse: logout options %j", async (options, message) => {
  const store = new PlayedStore();
  const everywhere = new RegExp(`^logoutEverywhere: ${message.source}`);
  await expect(store.logout.everywhere("mira", options as object)).rejects.toThrow(everywhere);
  await expect(store.logout.others(store.request(MIRA), options as object)).rejects.toThrow(/^logoutOthers: /);
  await expect(store.logout.everywhere("", {})).rejects.toThrow(/^logoutEverywhere: expected a user ID/);
  expect(store.redis.asked).toEqual([]);
});

test("misuse: the ends of the ranges are in them", async () => {
  const store = new PlayedStore();
  store.acknowledge = async () => 100;
  for (const options of [{ replicas: 0 }, { replicas: 100, timeoutMs: 1 }]) {
    await expect(store.logout.everywhere("mira", options)).resolves.toMatchObject({ replicas: options.replicas });
  }
});
