import { expect, test } from "vitest";
import { DataUser } from "../../src/session/data-user.js";
import { LifetimePlan } from "../../src/session/lifetime-plan.js";
import { MountGenerate } from "../../src/session/mount-generate.js";
import { requestState } from "../../src/session/request-state.js";
import { RetiredSessions } from "../../src/session/retired-sessions.js";
import { bindingOf, bindSession, newBinding, type SessionBinding } from "../../src/session/session-binding.js";
import { SessionExchange } from "../../src/session/session-exchange.js";
import { PlayedConnection } from "../support/played-connection.js";

const MIRA = { userId: "mira", userText: "mira", generation: "7", at: undefined };
const HEAD = { before: "mira,7,at=", after: ";n=abc," };

class PlayedExchange {
  readonly redis = new PlayedConnection();
  readonly retired = new RetiredSessions();
  readonly mount = new MountGenerate();
  readonly inserted: unknown[] = [];
  readonly noted: unknown[] = [];
  /** What the insert answers: the time it was written at, none if the ID was in use. */
  insertion: () => string | undefined = () => "1700000000000";

  generate: (req: object) => void = (req) => {
    Object.assign(req, { sessionID: "fresh", session: { cookie: "fresh cookie", reload: 1 } });
  };

  constructor() {
    this.redis.replies["take-record"] = true;
    this.mount.assign((req) => this.generate(req));
  }

  readonly exchange = new SessionExchange({
    redis: this.redis.asRedis,
    writer: {
      insertHead: async (...args: unknown[]) => {
        this.inserted.push(args.slice(0, 4));
        return this.insertion();
      },
    } as never,
    retired: this.retired,
    journal: { noteEnding: (...args: string[]) => this.noted.push(args) } as never,
    lifetimes: new LifetimePlan({ ttlMs: 1_000, touchIntervalMs: 0 }, undefined),
    dataUser: new DataUser(() => "mira"),
    mount: this.mount,
    serialize: (session) => JSON.stringify(Object.keys(session)),
    sessionPrefix: "session:",
  });
}

interface Current {
  readonly req: { session: object; sessionID: unknown };
  readonly old: { sid: string; session: object; binding: SessionBinding };
}

function current(data: object = {}, more: Partial<SessionBinding> = {}): Current {
  const session = { cookie: "old cookie", ...data };
  const binding: SessionBinding = { ...newBinding("old"), kind: "loaded", head: "mira,7,n=xyz,", ...more };
  bindSession(session, binding);
  return { req: { session, sessionID: "old" }, old: { sid: "old", session, binding } };
}

test.each([
  [undefined, {}],
  [true, { cart: 1, name: 2 }],
  [["cart", "missing", "cookie", "toString"], { cart: 1 }],
] as const)(
  "G6: a session prepared with keep: %j is the mount's own, and the request keeps its old one",
  (keep, data) => {
    const { exchange } = new PlayedExchange();
    const { req, old } = current({ cart: 1, name: 2, reload: 3 });
    const fresh = exchange.prepare(req as never, old as never, keep);
    expect({ ...fresh.session }).toStrictEqual({ cookie: "fresh cookie", reload: 1, ...data });
    expect([fresh.sid, bindingOf(fresh.session)]).toEqual(["fresh", newBinding("fresh")]);
    expect(fresh.binding).toBe(bindingOf(fresh.session));
    expect([req.session, req.sessionID]).toEqual([old.session, "old"]);
  },
);

test("G6: the request's ID may be one that reads as ended; it is as it was, also if the mount throws", () => {
  const played = new PlayedExchange();
  const { req, old } = current();
  let seen: unknown;
  played.generate = (target) => {
    seen = (target as { sessionID: unknown }).sessionID;
    throw new Error("genid");
  };
  Object.defineProperty(req, "sessionID", { get: () => undefined, configurable: true, enumerable: true });
  expect(() => played.exchange.prepare(req as never, old as never, true)).toThrow("genid");
  expect([seen, req.sessionID, req.session]).toEqual(["old", undefined, old.session]);
  expect(Object.getOwnPropertyDescriptor(req, "sessionID")?.get).toBeTypeOf("function");
});

test("G6: what was inserted is what the new session stands for", async () => {
  const { exchange, inserted } = new PlayedExchange();
  const { req, old } = current({ cart: 1 });
  const fresh = exchange.prepare(req as never, old as never, true);
  await exchange.insert(fresh, HEAD, MIRA);
  const payload = '["cookie","reload","cart"]';
  expect(inserted).toEqual([["fresh", HEAD, payload, { ttlMs: 1_000, lifetimeMs: 1_000 }]]);
  expect(fresh.binding).toMatchObject({
    kind: "loaded",
    head: "mira,7,at=1700000000000;n=abc,",
    login: { ...MIRA, at: 1_700_000_000_000 },
    payload,
    dataUser: "mira",
  });
});

test("G6: a session whose cookie is over already is inserted for a moment", async () => {
  const { exchange, inserted } = new PlayedExchange();
  const { req, old } = current();
  const fresh = exchange.prepare(req as never, old as never, undefined);
  Object.assign(fresh.session, { cookie: { originalMaxAge: 0 } });
  await exchange.insert(fresh, HEAD, MIRA);
  expect(inserted).toEqual([["fresh", HEAD, '["cookie","reload"]', { ttlMs: 1, lifetimeMs: 1 }]]);
});

test("G6: an insert of unknown fate is deleted; one under an ID in use is not", async () => {
  const lost = new PlayedExchange();
  const failure = new Error("lost");
  lost.insertion = () => {
    throw failure;
  };
  const { req, old } = current();
  const fresh = lost.exchange.prepare(req as never, old as never, undefined);
  await expect(lost.exchange.insert(fresh, HEAD, MIRA)).rejects.toBe(failure);
  expect([lost.redis.asked, fresh.binding.kind]).toEqual([["delete session:fresh"], "new"]);
  const taken = new PlayedExchange();
  taken.insertion = () => undefined;
  await expect(taken.exchange.insert(fresh, HEAD, MIRA)).rejects.toMatchObject({
    code: "ERR_LOGIN_SUPERSEDED",
    message: "The new session ID is in use already; check the genid option",
  });
  expect([taken.redis.asked, fresh.binding.kind]).toEqual([[], "new"]);
});

test.each([
  [false, "mira,7,n=xyz,", '""'],
  [true, "mira,7", '"1"'],
])("G6: taking a record (bare: %s) notes that it has ended, and removes the mark", async (bare, head, flag) => {
  const { exchange, redis, noted } = new PlayedExchange();
  redis.deleteFailure = new Error("nobody waits for it");
  expect(await exchange.take(current({}, { bare, head }).old as never)).toBe(true);
  expect(redis.asked).toEqual([
    expect.stringMatching(new RegExp(`^take-record session:old "${head}" ${flag} "~taken:[\\w-]+"$`)),
    "delete session:old",
  ]);
  expect(noted).toEqual([["old", `${head}-`]]);
});

test("G6: nothing is taken that somebody else has ended, nor by what was never loaded", async () => {
  const { exchange, redis, noted } = new PlayedExchange();
  expect(await exchange.take(current({}, { kind: "foreign" }).old as never)).toBe(false);
  expect(await exchange.take(current({}, { kind: "new" }).old as never)).toBe(false);
  expect(redis.asked).toEqual([]);
  redis.replies["take-record"] = false;
  expect(await exchange.take(current().old as never)).toBe(false);
  expect([redis.asked.length, noted]).toEqual([1, []]);
});

test("G6: adopting puts the new session on the request, retires the old ID and holds the login", () => {
  const { exchange, retired } = new PlayedExchange();
  const { req, old } = current();
  const fresh = exchange.prepare(req as never, old as never, undefined);
  fresh.binding.login = MIRA;
  const late = Object.assign(Object.create(req), { res: { headersSent: true } });
  expect(() => exchange.adopt(late, old as never, fresh)).toThrow(
    expect.objectContaining({ code: "ERR_HEADERS_SENT" }),
  );
  expect(retired.isRetiredSince("old", 0)).toBe(false);
  exchange.adopt(req as never, old as never, fresh);
  expect([req.sessionID, req.session]).toEqual(["fresh", fresh.session]);
  expect([retired.isRetiredSince("old", 0), requestState(req).held.get("mira")]).toEqual([true, MIRA]);
});
