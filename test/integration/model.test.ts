import fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import { GenerationStore, type LoginAttempt, type SessionRequest } from "../../src/index.js";
import { type Arrived, RequestLine, seenIn } from "../history/requests.js";
import { attempt, type Ended } from "../history/world.js";
import { freshClient } from "../support/clients.js";
import { type Attempt, type Flight, SessionModel } from "../support/session-model.js";

const USERS = ["ann", "7,5"] as const;
/** Each of two browsers has three tabs with the same cookie: two are served by one process, the third by another. */
const TABS = 6;
const HOUR_MS = 3_600_000;

/** How far the application's clock is ahead of Redis'; never near the absolute end of a login made in the test. */
const CLOCK_LEADS_MS = [0, 0, 0.4 * HOUR_MS, 0.8 * HOUR_MS, 3.2 * HOUR_MS, -3.2 * HOUR_MS];

const user = fc.constantFrom(...USERS);
const tab = fc.nat({ max: TABS - 1 });

/** What a request does before it ends; it may have arrived long before. */
const act = fc.constantFrom("save", "poll", "rotate", "others", "destroy", "regenerate", "login", "keep", "isCurrent");

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("act"), tab, act, user }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("signIn"), tab, user }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("arrive"), tab }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("read"), tab }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("begin"), user }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("everywhere", "incr"), user }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("loseCounter", "jumpCounter", "generation"), user }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("overwrite"), tab }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("clock"), leadMs: fc.constantFrom(...CLOCK_LEADS_MS) }) },
);

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** A request that is in flight while something else happens: to its browser's other tab, or to its user. */
const overlap = fc
  .tuple(tab, fc.oneof(step, fc.record({ kind: fc.constant("everywhere"), user })), act, act, user, fc.nat({ max: 2 }))
  .map(([which, between, first, last, who, tabsOn]): Step[] => [
    { kind: "arrive", tab: which },
    tabsOn > 0 ? { kind: "act", tab: siblingOf(which, tabsOn), act: first, user: who } : between,
    { kind: "act", tab: which, act: last, user: who },
  ]);

const history = fc
  .array(fc.oneof({ weight: 2, arbitrary: step.map((one): Step[] => [one]) }, { weight: 1, arbitrary: overlap }), {
    minLength: 5,
    maxLength: 30,
  })
  .map((parts) => parts.flat());

/** A request that is stopped in its handler. */
interface Open {
  readonly flight: Flight | undefined;
  readonly req: SessionRequest;
  /** Ends it; answers the session ID in the response's cookie. */
  readonly end: () => Promise<string | undefined>;
}

afterEach(() => {
  vi.useRealTimers();
});

/** Does each step on the store and on the model, and compares what both say. */
class Run {
  readonly #model = new SessionModel(HOUR_MS);
  readonly #cookies: (string | undefined)[] = [];
  readonly #open = new Map<number, Open>();
  readonly #begun = new Map<string, { readonly real: LoginAttempt; readonly model: Attempt }>();
  readonly #sids = new Set<string>();
  readonly #client: Awaited<ReturnType<typeof freshClient>>;
  readonly #stores: readonly [GenerationStore, GenerationStore];
  readonly #requests: readonly [RequestLine, RequestLine];
  #numbers = 0;

  constructor(client: Awaited<ReturnType<typeof freshClient>>) {
    this.#client = client;
    const store = (): GenerationStore => new GenerationStore({ client, touchIntervalMs: 0, absoluteTtlMs: HOUR_MS });
    this.#stores = [store(), store()];
    const line = (of: GenerationStore): RequestLine => new RequestLine(of, () => this.#next("s"));
    this.#requests = [line(this.#stores[0]), line(this.#stores[1])];
  }

  async step(next: Step): Promise<void> {
    const model = this.#model;
    switch (next.kind) {
      case "act":
        return await this.#act(next.tab, next.act, next.user);
      case "signIn":
        return await this.#act(next.tab, "login", next.user);
      case "arrive":
        if (!this.#open.has(next.tab)) this.#open.set(next.tab, await this.#arrive(next.tab));
        return;
      case "read":
        return await this.#read(this.#cookies[browserOf(next.tab)], processOf(next.tab));
      case "begin":
        this.#begun.set(next.user, {
          real: await this.#stores[0].beginLogin(next.user),
          model: model.begin(next.user),
        });
        return;
      case "everywhere":
        return await this.#everywhere(next.user);
      case "incr":
        // By hand, a counter that is missing starts at 1 each time: numbers that others make are not promised to be new.
        if (!model.hasCounter(next.user)) return;
        await this.#client.incr(counterKey(next.user));
        model.newEra(next.user);
        return;
      case "loseCounter":
        await this.#client.del(counterKey(next.user));
        model.loseCounter(next.user);
        return;
      case "jumpCounter":
        // As if Redis' clock had been far ahead, each time further, and then set back.
        this.#numbers += 1;
        await this.#client.set(counterKey(next.user), String(4e15 + this.#numbers * 1e12));
        model.newEra(next.user);
        return;
      case "generation":
        expect((await this.#stores[0].generation(next.user)) !== undefined).toBe(model.hasCounter(next.user));
        return;
      case "overwrite":
        return await this.#overwrite(this.#cookies[browserOf(next.tab)]);
      case "clock":
        vi.setSystemTime(performance.timeOrigin + performance.now() + next.leadMs);
        model.clockLeadMs = next.leadMs;
    }
  }

  /** Ends what is still open, and looks at every session there ever was. */
  async finish(): Promise<void> {
    for (const which of [...this.#open.keys()]) await this.#act(which, "save", "ann");
    for (const sid of this.#sids) await this.#read(sid, 0);
    for (const store of this.#stores) await store.close();
  }

  async #everywhere(who: string): Promise<void> {
    const before = await this.#client.get(counterKey(who));
    const { generation } = await this.#stores[0].logoutEverywhere(who);
    expect(BigInt(generation)).toBeGreaterThan(BigInt(before ?? 0));
    this.#model.newEra(who);
  }

  async #read(sid: string | undefined, process: 0 | 1): Promise<void> {
    if (sid === undefined) return;
    const data = await this.#stores[process].get(sid);
    const seen = data === null ? null : seenIn(data);
    expect(seen === null ? null : { user: seen.user, value: seen.value }).toEqual(this.#model.read(sid, process));
  }

  async #overwrite(sid: string | undefined): Promise<void> {
    if (sid === undefined) return;
    const value = this.#next("v");
    await this.#stores[0].set(sid, { cookie: { originalMaxAge: null }, value } as never);
    this.#model.overwrite(sid, value);
  }

  async #arrive(which: number): Promise<Open> {
    const sid = this.#cookies[browserOf(which)];
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let arrived: (value: Arrived) => void = () => undefined;
    const arrival = new Promise<Arrived>((resolve) => {
      arrived = resolve;
    });
    const answered = this.#requests[processOf(which)].send(sid, (value) => {
      arrived(value);
      return released;
    });
    const { req, seen } = await arrival;
    const flight = sid === undefined ? undefined : this.#model.arrive(sid, processOf(which));
    const expected = flight === undefined ? null : { user: flight.record.user, value: flight.value };
    expect(seen == null ? null : { user: seen.user, value: seen.value }).toEqual(expected);
    const end = async (): Promise<string | undefined> => {
      release();
      const { cookie, error } = await answered;
      expect(error).toBeUndefined();
      return cookie;
    };
    return { flight, req, end };
  }

  async #act(which: number, what: string, who: string): Promise<void> {
    const open = this.#open.get(which) ?? (await this.#arrive(which));
    this.#open.delete(which);
    const { flight, req, end } = open;
    const isVisit = flight === undefined || flight.isRetired;
    const store = this.#stores[processOf(which)];
    if (what === "login" || what === "keep") await this.#login(store, open, who, what === "keep");
    else if (isVisit && what === "save") return await this.#visit(which, open);
    else if (flight !== undefined) await this.#actIn(store, flight, req, what);
    const cookie = await end();
    if (flight !== undefined) this.#model.leave(flight);
    if (cookie === undefined) return;
    this.#cookies[browserOf(which)] = cookie;
    this.#sids.add(cookie);
    if (what === "regenerate") this.#model.visit(cookie, this.#valueIn(req));
  }

  async #actIn(store: GenerationStore, flight: Flight, req: SessionRequest, what: string): Promise<void> {
    const model = this.#model;
    switch (what) {
      case "save": {
        const value = this.#put(req);
        model.save(flight, value);
        return;
      }
      case "rotate": {
        const canMove = model.canMove(flight);
        expect(await ended(store.rotate(req))).toEqual(canMove ? OK : SUPERSEDED);
        if (canMove) model.move(flight, req.sessionID);
        return;
      }
      case "others":
        return await this.#others(store, flight, req);
      case "destroy":
        await new Promise((resolve) => req.session.destroy(resolve));
        model.end(flight.sid, flight.process);
        return;
      case "regenerate":
        await new Promise((resolve) => req.session.regenerate(resolve));
        model.end(flight.sid, flight.process);
        this.#put(req);
        return;
      case "isCurrent":
        expect(await store.isCurrent(req)).toBe(model.isCurrent(flight));
    }
  }

  async #others(store: GenerationStore, flight: Flight, req: SessionRequest): Promise<void> {
    const model = this.#model;
    const { user: own } = flight.record;
    const result = await ended(store.logoutOthers(req));
    if (own === "") {
      // Whether the ID is retired or the session anonymous: nothing is done.
      expect(result).toEqual(flight.isRetired ? SUPERSEDED : { outcome: "refused", code: "ERR_NOT_LOGGED_IN" });
      return;
    }
    if (!model.canLogOutOthers(flight)) {
      expect(result).toEqual(SUPERSEDED);
      return;
    }
    const era = model.newEra(own);
    const canMove = model.canMove(flight);
    expect(result).toEqual(canMove ? OK : SUPERSEDED);
    if (canMove) model.move(flight, req.sessionID, era);
  }

  async #login(store: GenerationStore, { flight, req }: Open, who: string, keepsData: boolean): Promise<void> {
    const model = this.#model;
    const begun = this.#begun.get(who) ?? { real: await store.beginLogin(who), model: model.begin(who) };
    this.#begun.delete(who);
    const canLogin = model.canLogin(begun.model);
    const options = keepsData ? { keep: true as const } : {};
    expect(await ended(store.login(req, begun.real, options))).toEqual(canLogin ? OK : SUPERSEDED);
    if (!canLogin) return;
    model.login(begun.model, req.sessionID, flight, keepsData);
    this.#sids.add(req.sessionID);
  }

  /** A request whose session is not there, or was ended meanwhile: what it saves goes into a new session, or nowhere. */
  async #visit(which: number, { flight, req, end }: Open): Promise<void> {
    const value = this.#put(req);
    const cookie = await end();
    if (flight !== undefined) this.#model.leave(flight);
    expect(cookie === undefined).toBe(flight !== undefined);
    if (cookie === undefined) return;
    this.#cookies[browserOf(which)] = cookie;
    this.#sids.add(cookie);
    this.#model.visit(cookie, value);
  }

  #put(req: SessionRequest): string {
    const value = this.#next("v");
    Object.assign(req.session, { value });
    return value;
  }

  #valueIn({ session }: SessionRequest): string {
    return seenIn(session).value ?? "";
  }

  #next(prefix: string): string {
    this.#numbers += 1;
    return `${prefix}${this.#numbers}`;
  }
}

function browserOf(which: number): number {
  return Math.floor(which / 3);
}

function processOf(which: number): 0 | 1 {
  return which % 3 === 2 ? 1 : 0;
}

/** The tab so many after this one in the same browser. */
function siblingOf(which: number, tabsOn: number): number {
  return browserOf(which) * 3 + ((which + tabsOn) % 3);
}

const OK: Ended = { outcome: "ok" };
const SUPERSEDED: Ended = { outcome: "refused", code: "ERR_LOGIN_SUPERSEDED" };

function ended(promise: Promise<unknown>): Promise<Ended> {
  return attempt("several", () => promise);
}

function counterKey(who: string): string {
  return `user_login_age:${who.replace(",", "%2C")}`;
}

test("G1 G3 G4 G5 G6 G11: the store does what a simple model says, for any order of things and clocks that differ", async () => {
  const client = await freshClient();
  await client.ping();
  const property = fc.asyncProperty(history, async (steps) => {
    vi.useFakeTimers({ toFake: ["Date"], now: performance.timeOrigin + performance.now() });
    try {
      await client.flushdb();
      const run = new Run(client);
      for (const next of steps) await run.step(next);
      await run.finish();
    } finally {
      vi.useRealTimers();
    }
  });
  await fc.assert(property, { numRuns: process.env["THOROUGH"] === "1" ? 150 : 75, seed: 20_261_130 });
}, 120_000);
