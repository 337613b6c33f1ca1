import { expect, test } from "vitest";
import { Generations } from "../../src/session/generations.js";
import { LoginAttempt } from "../../src/session/login-attempt.js";
import { LoginFlow } from "../../src/session/login-flow.js";
import { requestState } from "../../src/session/request-state.js";
import { bindData, newBinding, type SessionBinding } from "../../src/session/session-binding.js";
import { PlayedConnection } from "../support/played-connection.js";

const MIRA = { userId: "mira", userText: "mira", generation: "7", at: 1_700_000_000_000 };
const FRESH_HEAD = { before: "mira,7,at=", after: expect.stringMatching(/^;n=[\w-]+,$/) };
const NEW_LOGIN = { ...MIRA, at: undefined };

/** A flow on an exchange of which each step is noted, and may be told to fail. */
class PlayedFlow {
  readonly redis = new PlayedConnection();
  readonly done: (readonly [what: string, ...args: unknown[]])[] = [];
  readonly failures: Record<string, Error> = {};
  isTaken = true;
  /** The session that takes the old one's place. */
  readonly fresh = { sid: "fresh", session: { cookie: "fresh cookie" } };
  onInsert: () => void = () => undefined;

  constructor() {
    this.redis.replies["ensure-generation"] = "7";
    this.redis.replies["confirm-generation"] = true;
  }

  readonly flow = new LoginFlow({
    generations: new Generations(this.redis.asRedis, "user:", 1_000),
    exchange: {
      prepare: (_req: object, old: { sid: string }, keep: unknown) => {
        this.done.push(["prepare", old.sid, keep]);
        return this.fresh;
      },
      insert: async (_fresh: object, head: object, login: unknown) => {
        this.done.push(["insert", head, login]);
        this.onInsert();
        this.#failIfTold("insert");
      },
      discard: () => this.done.push(["discard"]),
      take: async (old: { sid: string }) => {
        this.done.push(["take", old.sid]);
        this.#failIfTold("take");
        return this.isTaken;
      },
      adopt: (_req: object, old: { sid: string }) => {
        this.done.push(["adopt", old.sid]);
      },
    } as never,
    endSession: async (sid: string) => {
      this.done.push(["end", sid]);
      this.#failIfTold("end");
    },
  });

  #failIfTold(what: string): void {
    const failure = this.failures[what];
    if (failure !== undefined) throw failure;
  }

  get steps(): string[] {
    return this.done.map(([what]) => what);
  }
}

function request(binding: Partial<SessionBinding> = {}, more: object = {}): never {
  const session = { cookie: "old cookie" };
  bindData(session, { ...newBinding("old"), kind: "loaded", ...binding });
  return { session, sessionID: "old", res: { headersSent: false }, ...more } as never;
}

test("G6: beginLogin takes the generation, and leaves it with the request if it is given one", async () => {
  const { flow, redis } = new PlayedFlow();
  const req = {};
  expect(String(await flow.begin("mi,ra", req))).toBe("attempt1,mi%2Cra,7");
  expect(requestState(req).attempts).toEqual(new Map([["mi%2Cra", "7"]]));
  await flow.begin("mira", undefined);
  expect(redis.asked[1]).toBe('ensure-generation user:mira "1000"');
});

test.each([
  [null, "null"],
  ["mira", "a string"],
])("misuse: beginLogin for %j", async (req, got) => {
  const message = `beginLogin: expected a request or nothing, got ${got}`;
  const misuse = { code: "ERR_INVALID_ARG_TYPE", message };
  const { flow, redis } = new PlayedFlow();
  await expect(flow.begin("mira", req as never)).rejects.toMatchObject(misuse);
  await expect(flow.begin("", undefined)).rejects.toThrow(/^beginLogin: expected a user ID/);
  expect(redis.asked).toEqual([]);
});

test("G6: a login inserts, confirms, ends the old session and only then adopts the new one", async () => {
  const { flow, done, redis } = new PlayedFlow();
  await flow.login(request(), "mira", {});
  expect(done).toEqual([
    ["prepare", "old", undefined],
    ["insert", FRESH_HEAD, NEW_LOGIN],
    ["end", "old"],
    ["adopt", "old"],
  ]);
  expect(redis.asked).toEqual(['ensure-generation user:mira "1000"', 'confirm-generation user:mira "7"']);
});

test("G6: a login with an attempt uses the attempt's generation", async () => {
  const { flow, done, redis } = new PlayedFlow();
  await flow.login(request(), new LoginAttempt("mira", "5"), { keep: ["cart"] });
  expect(done[0]).toEqual(["prepare", "old", ["cart"]]);
  expect(done[1]).toEqual(["insert", { ...FRESH_HEAD, before: "mira,5,at=" }, { ...NEW_LOGIN, generation: "5" }]);
  expect(redis.asked).toEqual(['confirm-generation user:mira "5"']);
});

test("G6: a login in a session that was never stored has none to end, in one that is ended it has the old ID's", async () => {
  const unsaved = new PlayedFlow();
  await unsaved.flow.login(request({ kind: "new" }), "mira", { keep: true });
  expect([unsaved.steps, unsaved.done[0]]).toEqual([
    ["prepare", "insert", "adopt"],
    ["prepare", "old", true],
  ]);
  const ended = new PlayedFlow();
  await ended.flow.login(request({}, { sessionID: undefined }), "mira", { keep: false });
  expect(ended.done).toContainEqual(["prepare", "old", undefined]);
  expect(ended.done).toContainEqual(["adopt", "old"]);
});

test("G6: the old session is ended when the saves that are on their way have ended", async () => {
  const { flow, done } = new PlayedFlow();
  let saved: (() => void) | undefined;
  const tail = new Promise<void>((resolve) => {
    saved = () => {
      done.push(["saved"]);
      resolve();
    };
  });
  const login = flow.login(request({ kind: "new", tail }), "mira", {});
  await new Promise((resolve) => setImmediate(resolve));
  saved?.();
  await login;
  expect(done.slice(-3)).toEqual([["saved"], ["end", "old"], ["adopt", "old"]]);
});

test("G6: a login that a logout overtook, or whose answer is lost, leaves no record and the old session", async () => {
  const overtaken = new PlayedFlow();
  overtaken.redis.replies["confirm-generation"] = false;
  await expect(overtaken.flow.login(request(), "mira", {})).rejects.toMatchObject({
    code: "ERR_LOGIN_SUPERSEDED",
    message: expect.stringMatching(/^The user was logged out/),
  });
  expect(overtaken.steps).toEqual(["prepare", "insert", "discard"]);

  const unconfirmed = new PlayedFlow();
  const lost = new Error("lost");
  unconfirmed.redis.replies["confirm-generation"] = lost;
  await expect(unconfirmed.flow.login(request(), "mira", {})).rejects.toBe(lost);
  expect(unconfirmed.steps).toEqual(["prepare", "insert", "discard"]);

  const unwritten = new PlayedFlow();
  unwritten.failures["insert"] = lost;
  await expect(unwritten.flow.login(request(), "mira", {})).rejects.toBe(lost);
  // insert() itself leaves nothing behind.
  expect(unwritten.steps).toEqual(["prepare", "insert"]);

  const unended = new PlayedFlow();
  unended.failures["end"] = lost;
  await expect(unended.flow.login(request(), "mira", {})).rejects.toBe(lost);
  expect(unended.steps).toEqual(["prepare", "insert", "end", "discard"]);
});

test("G6: once the response has begun there is no login, also if it began meanwhile", async () => {
  const before = new PlayedFlow();
  const late = { code: "ERR_HEADERS_SENT" };
  await expect(before.flow.login(request({}, { res: { headersSent: true } }), "mira", {})).rejects.toMatchObject(late);
  expect([before.steps, before.redis.asked]).toEqual([[], []]);
  const meanwhile = new PlayedFlow();
  const res = { headersSent: false };
  meanwhile.onInsert = () => {
    res.headersSent = true;
  };
  await expect(meanwhile.flow.login(request({}, { res }), "mira", {})).rejects.toMatchObject(late);
  expect(meanwhile.steps).toEqual(["prepare", "insert", "discard"]);
});

test.each([
  [{}, {}, /^login: expected a LoginAttempt made by beginLogin, or a user ID, got an object$/],
  [null, {}, /^login: expected a LoginAttempt made by beginLogin, or a user ID, got null$/],
  ["", {}, /^login: expected a user ID/],
  ["mira", { keep: "cart" }, /^login: keep: expected a boolean or an array of field names, got a string$/],
  ["mira", { keep: ["cart", 1] }, /^login: keep: expected a boolean or an array of field names, got an array$/],
  ["mira", { keep: { every: () => true } }, /^login: keep: .* got an object$/],
  ["mira", { kept: true }, /^login: unknown option "kept"; known are keep$/],
])("misuse: login(req, %j, %j)", async (who, options, message) => {
  const { flow, done, redis } = new PlayedFlow();
  const code = String(message).includes("unknown option") ? "ERR_INVALID_ARG_VALUE" : "ERR_INVALID_ARG_TYPE";
  const misuse = { code, message: expect.stringMatching(message) };
  await expect(flow.login(request(), who as never, options as never)).rejects.toMatchObject(misuse);
  expect([done, redis.asked]).toEqual([[], []]);
});

test("misuse: login, rotate and leave want a request with a session", async () => {
  const { flow } = new PlayedFlow();
  await expect(flow.login({} as never, "mira", {})).rejects.toThrow(/^login: expected a request with a session/);
  await expect(flow.rotate({} as never)).rejects.toThrow(/^rotate: expected a request with a session/);
  await expect(flow.leave({} as never)).rejects.toThrow(/^regenerate: expected a request with a session/);
});

test("misuse: a request that loses its session while it waits for its turn", async () => {
  const { flow, done } = new PlayedFlow();
  const lost = async (name: string, call: (req: never) => Promise<void>): Promise<void> => {
    const req: { session?: object } = request({ login: MIRA });
    const answer = call(req as never);
    delete req.session;
    await expect(answer).rejects.toThrow(new RegExp(`^${name}: expected a request with a session`));
  };
  await lost("login", (req) => flow.login(req, "mira", {}));
  await lost("rotate", (req) => flow.rotate(req));
  expect(done).toEqual([]);
});

test("G6: rotate moves the login with its time, the cookie and all data", async () => {
  const { flow, done, fresh } = new PlayedFlow();
  await flow.rotate(request({ login: MIRA }));
  const before = expect.stringMatching(/^mira,7,at=1700000000000;n=[\w-]+,$/);
  expect(done).toEqual([
    ["prepare", "old", true],
    ["insert", { before, after: "" }, MIRA],
    ["take", "old"],
    ["adopt", "old"],
  ]);
  expect(fresh.session.cookie).toBe("old cookie");
});

test("G6: rotate moves an anonymous session as one, and leaves alone what was never stored", async () => {
  const anonymous = new PlayedFlow();
  await anonymous.flow.rotate(request());
  const before = expect.stringMatching(/^,,n=[\w-]+,$/);
  expect(anonymous.done[1]).toEqual(["insert", { before, after: "" }, undefined]);
  const unsaved = new PlayedFlow();
  await unsaved.flow.rotate(request({ kind: "new" }));
  expect(unsaved.steps).toEqual([]);
});

test("G6: a move whose session somebody else has ended, or that comes too late, leaves nothing", async () => {
  const ended = new PlayedFlow();
  ended.isTaken = false;
  await expect(ended.flow.rotate(request({ login: MIRA }))).rejects.toMatchObject({
    code: "ERR_LOGIN_SUPERSEDED",
    message: expect.stringMatching(/^The session has been ended or exchanged/),
  });
  expect(ended.steps).toEqual(["prepare", "insert", "take", "discard"]);
  const late = new PlayedFlow();
  await expect(late.flow.rotate(request({}, { res: { headersSent: true } }))).rejects.toMatchObject({
    code: "ERR_HEADERS_SENT",
  });
  await expect(late.flow.rotate(request({}, { sessionID: undefined }))).rejects.toMatchObject({
    code: "ERR_LOGIN_SUPERSEDED",
  });
  expect(late.steps).toEqual([]);
});

test("G6: what changes the session ID of one request happens one after the other", async () => {
  const { flow, done } = new PlayedFlow();
  const req = request({ login: MIRA });
  await Promise.all([flow.rotate(req), flow.login(req, "mira", {}), flow.rotate(req)]);
  expect(done.map(([what]) => what)).toEqual([
    ...["prepare", "insert", "take", "adopt"],
    ...["prepare", "insert", "end", "adopt"],
    ...["prepare", "insert", "take", "adopt"],
  ]);
});

test("G4: regenerate takes the login along only if this request ended its session", async () => {
  const took = new PlayedFlow();
  const req = request({ login: MIRA });
  await took.flow.leave(req);
  expect([took.steps, requestState(req).held.get("mira")]).toEqual([["take", "end"], undefined]);

  const missed = new PlayedFlow();
  missed.isTaken = false;
  await missed.flow.leave(req);
  expect([missed.steps, requestState(req).held.get("mira")]).toEqual([["take", "end"], "ended"]);

  const failed = new PlayedFlow();
  const other = request({ login: MIRA });
  failed.failures["take"] = new Error("lost");
  await expect(failed.flow.leave(other)).rejects.toBe(failed.failures["take"]);
  expect(requestState(other).held.get("mira")).toBe("ended");

  const anonymous = new PlayedFlow();
  const nobody = request({}, { sessionID: undefined });
  await anonymous.flow.leave(nobody);
  expect([anonymous.done, requestState(nobody).held.size]).toEqual([[["end", "old"]], 0]);
});
