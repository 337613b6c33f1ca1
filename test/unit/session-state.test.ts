import { expect, test, vi } from "vitest";
import { DataUser, looksSignedIn } from "../../src/session/data-user.js";
import { deliver } from "../../src/session/deliver.js";
import { JSON_GUARD } from "../../src/session/json-guard.js";
import { MountGenerate } from "../../src/session/mount-generate.js";
import { holdLogin, inTurn, peekRequestState, requestState, signedOutReason } from "../../src/session/request-state.js";
import { RetiredSessions } from "../../src/session/retired-sessions.js";
import {
  bindData,
  bindingOf,
  bindSession,
  foreignBinding,
  mayBeStored,
  newBinding,
  nonceOf,
  shareBinding,
} from "../../src/session/session-binding.js";
import { currentSession, ensureHeadersOpen } from "../../src/session/session-request.js";

const MIRA = { userId: "mira", userText: "mira", generation: "7", at: 1 };

test("G12: data names a user only by the option, and what the option throws tells nothing", () => {
  expect([new DataUser(undefined).isConfigured, new DataUser(() => 1).isConfigured]).toEqual([false, true]);
  expect(new DataUser(undefined).of({})).toBeUndefined();
  const answers = [undefined, null, "a b", 7].map((answer) => new DataUser(() => answer).of({}));
  expect(answers).toEqual([undefined, undefined, "a%20b", "7"]);
  const failing = (failure: unknown): DataUser =>
    new DataUser(() => {
      throw failure;
    });
  for (const [dataUser, cause] of [
    [failing(new RangeError("secret")), "RangeError"],
    [failing("secret"), "not an Error"],
    [new DataUser(() => ""), "TypeError"],
  ] as const) {
    expect(() => dataUser.of({})).toThrow(
      expect.objectContaining({
        code: "ERR_USER_ID_OPTION",
        message: "The userId option threw, or answered something that is no user ID",
        cause: new Error(cause),
      }),
    );
  }
});

test("G12: what looks signed in", () => {
  const signedIn = [{ userId: 0 }, { user: {} }, { passport: { user: "mira" } }];
  const not = [{}, { userId: null, user: "", passport: { user: false } }, { passport: null }, { passport: "user" }];
  expect([...signedIn, ...not].map(looksSignedIn)).toEqual([true, true, true, false, false, false, false]);
  const strange = Object.assign(() => undefined, { user: "mira" });
  expect(looksSignedIn({ passport: strange })).toBe(false);
});

test("G10: a result goes to the callback, once and not at once, or is the promise", async () => {
  const callback = vi.fn();
  expect(deliver(Promise.resolve(7), callback)).toBeUndefined();
  const failure = new Error("failed");
  expect(deliver(Promise.reject(failure), callback)).toBeUndefined();
  expect(callback).not.toHaveBeenCalled();
  await new Promise(setImmediate);
  expect(callback.mock.calls).toEqual([[null, 7], [failure]]);
  expect(await deliver(Promise.resolve(7), undefined)).toBe(7);
  // Nobody takes this one: it must not be an unhandled rejection.
  void deliver(Promise.reject(failure), undefined);
  await new Promise(setImmediate);
});

test("G10: a session whose data is no JSON looks changed each time, any other as it is", () => {
  const session = (data: object): object =>
    Object.defineProperty({ cookie: { big: 1n }, ...data }, "toJSON", JSON_GUARD);
  const look = (data: object): unknown => (session(data) as { toJSON(): unknown }).toJSON();
  const plain = session({ text: "a", list: [1], none: null });
  expect((plain as { toJSON(): unknown }).toJSON()).toBe(plain);
  const changed = [
    look({ big: 1n }),
    look({ nested: { big: 1n } }),
    look({ run: Object.assign(() => 1, { toJSON: fail }) }),
  ];
  expect(changed.every((one) => Object.keys(one as object).join() === "notSerializable")).toBe(true);
  expect(new Set(changed.map((one) => JSON.stringify(one))).size).toBe(3);
});

function fail(): never {
  throw new Error("toJSON");
}

test("misuse: the second mount on one store is warned of, once", () => {
  const warn = vi.spyOn(process, "emitWarning").mockReturnValue(undefined);
  const mount = new MountGenerate();
  expect(mount.isMounted).toBe(false);
  expect(() => mount.on({})).toThrow(
    expect.objectContaining({
      code: "ERR_INVALID_ARG_VALUE",
      message: "No session() middleware uses this store; pass it as session({ store })",
    }),
  );
  for (let mounts = 1; mounts <= 3; mounts += 1) {
    mount.assign((req) => Object.assign(req, { session: {}, sessionID: "a" }));
    expect(warn).toHaveBeenCalledTimes(mounts === 1 ? 0 : 1);
  }
  expect(warn).toHaveBeenCalledWith(
    "Two session() middlewares share one GenerationStore: express-session then uses the cookie options of the last " +
      "one for the new sessions of both. Create one store for each.",
    { type: "LogoutEverywhereWarning", code: "LOGOUT_EVERYWHERE_SHARED_STORE" },
  );
  const req = { url: "/", sessionID: "old" };
  expect(mount.beside(req)).toMatchObject({ url: "/", sessionID: "a", session: {} });
  expect([mount.isMounted, req]).toEqual([true, { url: "/", sessionID: "old" }]);
  warn.mockRestore();
});

test("G6: what is known of a request stays with it, unseen", async () => {
  const req = {};
  expect([peekRequestState(req), signedOutReason(req)]).toEqual([undefined, undefined]);
  holdLogin(req, undefined);
  expect(peekRequestState(req)).toBeUndefined();
  holdLogin(req, MIRA);
  const state = requestState(req);
  expect([...state.held, ...state.attempts]).toEqual([["mira", MIRA]]);
  state.signedOut = "logged_out";
  expect([requestState(req) === state, signedOutReason(req), Object.keys(req)]).toEqual([true, "logged_out", []]);
  const order: number[] = [];
  const first = inTurn(req, async () => {
    await new Promise(setImmediate);
    order.push(1);
    throw new Error("first");
  });
  const second = inTurn(req, async () => order.push(2));
  await expect(first).rejects.toThrow("first");
  expect([await second, order]).toEqual([2, [1, 2]]);
  expect(Object.getOwnPropertySymbols(req)).toEqual([Symbol.for("logout-everywhere.request")]);
});

test("G6: a retired ID reads as none in requests from before its end only, until another is assigned", () => {
  const retired = new RetiredSessions();
  const before: { sessionID?: unknown } = {};
  retired.watch(before, "a", retired.moment);
  expect([before.sessionID, Object.keys(before)]).toEqual(["a", ["sessionID"]]);
  retired.retire("a");
  const after: { sessionID?: unknown } = {};
  retired.watch(after, "a", retired.moment);
  expect([before.sessionID, after.sessionID, retired.isRetiredSince("b", 0)]).toEqual([undefined, "a", false]);
  retired.retire("b");
  expect([retired.moment, after.sessionID, retired.isRetiredSince("b", 1), retired.isRetiredSince("b", 2)]).toEqual([
    2,
    "a",
    true,
    false,
  ]);
  before.sessionID = "c";
  expect(before.sessionID).toBe("c");
  Object.defineProperty(before, "sessionID", { value: "d" });
  expect(before.sessionID).toBe("d");
});

test("G5: what the store knows of a session is on it, and nobody sees it", () => {
  const binding = newBinding("a");
  const data = {};
  expect(bindingOf(data)).toBeUndefined();
  bindData(data, binding);
  expect([bindingOf(data) === binding, Reflect.ownKeys(data)]).toEqual([true, []]);
  shareBinding(data);
  shareBinding(data);
  expect(Reflect.get(data, Symbol.for("logout-everywhere.session"))).toBe(binding);
  expect([Reflect.ownKeys(data), Object.keys(data)]).toEqual([[Symbol.for("logout-everywhere.session")], []]);
  const session = {};
  bindSession(session, foreignBinding());
  bindSession(session, binding);
  expect([bindingOf(session) === binding, Object.keys(session)]).toEqual([true, []]);
  expect(JSON.stringify(Object.assign(session, { big: 1n }))).toContain("notSerializable");
  expect(binding).toEqual({ ...foreignBinding(), sid: "a", kind: "new" });
  expect([binding.head, binding.bare, binding.readAt, foreignBinding().sid]).toEqual(["", false, 0, undefined]);
  expect([nonceOf(binding), nonceOf(newBinding("a"))]).toEqual([
    binding.nonce,
    expect.not.stringMatching(`^${binding.nonce}$`),
  ]);
  expect([mayBeStored(newBinding("a")), mayBeStored(foreignBinding())]).toEqual([false, true]);
  expect(mayBeStored({ ...newBinding("a"), tail: Promise.resolve() })).toBe(true);
});

test.each<readonly [unknown, string, string]>([
  [undefined, "a request, got undefined", "ERR_INVALID_ARG_TYPE"],
  [null, "a request, got null", "ERR_INVALID_ARG_TYPE"],
  ...[{}, { session: null }, { session: "text" }, { session: {}, sessionID: "a" }].map(
    (req) =>
      [
        req,
        "a request with a session of this store, got one without; mount session({ store }) before",
        "ERR_INVALID_ARG_VALUE",
      ] as const,
  ),
])("misuse: %j has no session", (req, expected, code) => {
  expect(() => currentSession("login", req)).toThrow(
    expect.objectContaining({ name: "TypeError", code, message: `login: expected ${expected}` }),
  );
});

test("G6: the session of a request that another has ended is none, but for what may go on with it", () => {
  const session = {};
  const binding = newBinding("a");
  bindSession(session, binding);
  expect(currentSession("login", { session, sessionID: "b" })).toEqual({ sid: "b", session, binding });
  const ended = { session, sessionID: undefined };
  const superseded = expect.objectContaining({
    code: "ERR_LOGIN_SUPERSEDED",
    message: "The request's session has been ended by another request meanwhile",
  });
  expect(() => currentSession("login", ended)).toThrow(superseded);
  expect(currentSession("login", ended, "even if ended")).toEqual({ sid: "a", session, binding });
  bindSession(session, foreignBinding());
  expect(() => currentSession("login", ended, "even if ended")).toThrow(superseded);
});

test("G6: a session ID cannot be changed once the response has begun", () => {
  for (const open of [{}, { res: undefined }, { res: {} }, { res: { headersSent: false } }]) ensureHeadersOpen(open);
  expect(() => ensureHeadersOpen({ res: { headersSent: true } })).toThrow(
    expect.objectContaining({
      code: "ERR_HEADERS_SENT",
      message: "The response has begun, so a new session cookie cannot be sent; change the session ID before writing",
    }),
  );
});
