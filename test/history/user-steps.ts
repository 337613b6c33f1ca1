import type { LogoutReceipt } from "../../src/index.js";
import { nowUs } from "./requests.js";
import { noteSave, setValue, takeTime, visitWith } from "./session-steps.js";
import { attempt, DONE, type Ended, endedBy, sleep, type World } from "./world.js";

const LOST_AFTER_MS = 2_000;

/** What clients do as a user, with or without a session of that user's. */
export type UserStep = (world: World, user: string) => Promise<void>;

/** Signs in; `old` is the session the browser had before. */
export async function signIn(world: World, user: string, old: string | undefined, keepsData: boolean): Promise<void> {
  const { process, client, record, store, users, random, publish } = world;
  const value = world.newValue();
  let created: string | undefined;
  let note: ((cookie: string | undefined) => void) | undefined;
  const handle = async (req: Parameters<typeof setValue>[0], sid: string | undefined): Promise<void> => {
    const begun = { from: nowUs(), to: 0 };
    let attempted: Awaited<ReturnType<typeof store.beginLogin>> | undefined;
    const beginning = await attempt("one", async () => {
      attempted = await store.beginLogin(user);
    });
    begun.to = nowUs();
    if (attempted === undefined || beginning.outcome !== "ok") return;
    const login = attempted;
    const generation = String(login).split(",").at(-1) ?? "";
    const password = Number((await users.get(`password:${user}`)) ?? 0);
    world.busy.user = user;
    // The time a password hash takes.
    await sleep(random.between(0, 40));
    const from = nowUs();
    const ended = await attempt("several", () => store.login(req, login, keepsData ? { keep: true } : {}));
    const to = nowUs();
    if (ended.outcome === "ok") {
      created = req.sessionID;
      setValue(req, value);
    }
    note = (cookie) =>
      record({
        ...{ kind: "login", process, client, user, begun, generation, password, from, to, ...ended },
        ...{ sid, created, cookie },
      });
  };
  const answered =
    old === undefined
      ? await world.requests.send(undefined, ({ req }) => handle(req, undefined))
      : await visitWith(world, "", old, ({ req }) => handle(req, old));
  note?.(answered.cookie);
  if (created === undefined) return;
  noteSave(world, created, value, answered);
  if (answered.cookie === created) publish(user, created);
}

/** Signs in from a new browser, from one with an anonymous session, or from one that was signed in as somebody. */
export const signInSomehow: UserStep = async (world, user) => {
  const { random, pool } = world;
  const anonymous = random.chance(0.3) ? pool.pick("", random) : undefined;
  if (anonymous !== undefined) await signIn(world, user, anonymous, random.chance(0.5));
  else await signIn(world, user, random.chance(0.1) ? pool.pick(user, random) : undefined, false);
};

/** Moves the session to a new ID; `others` logs out all the user's others on the way. */
export async function exchange(
  world: World,
  kind: "rotate" | "others",
  user: string,
  sid: string,
): Promise<Ended & { created?: string | undefined }> {
  const { process, client, record, store, publish } = world;
  let exchanged: (Ended & { readonly created: string | undefined }) | undefined;
  let note: ((cookie: string | undefined) => void) | undefined;
  const { cookie } = await visitWith(world, user, sid, async ({ req, seen }) => {
    if (seen?.user !== user || (kind === "others" && user === "")) return;
    world.busy.user = user;
    await takeTime(world);
    let receipt: LogoutReceipt | undefined;
    const from = nowUs();
    const ended = await attempt("several", async () => {
      if (kind === "rotate") await store.rotate(req);
      else receipt = await store.logoutOthers(req);
    });
    const to = nowUs();
    const created = ended.outcome === "ok" ? req.sessionID : undefined;
    exchanged = { ...ended, created };
    const generation = receipt?.generation;
    note = (sent) =>
      record({ kind, process, client, user, sid, from, to, ...ended, created, generation, cookie: sent });
  });
  note?.(cookie);
  if (exchanged?.created !== undefined && exchanged.created === cookie) publish(user, cookie);
  return exchanged ?? { outcome: "void" };
}

export const logoutEverywhere: UserStep = async (world, user) => {
  await endEverywhere(world, user);
};

async function endEverywhere({ process, client, record, store }: World, user: string): Promise<Ended> {
  let generation: string | undefined;
  const from = nowUs();
  const ended = await attempt("one", async () => {
    ({ generation } = await store.logoutEverywhere(user));
  });
  record({ kind: "everywhere", process, client, user, from, to: nowUs(), ...ended, generation });
  return ended;
}

/** What an operator types into redis-cli. */
export const incrementByHand: UserStep = async ({ process, client, record, foreign }, user) => {
  const from = nowUs();
  let generation: string | undefined;
  let ended = DONE;
  try {
    // A command that is lost with its connection is never answered.
    const late = sleep(LOST_AFTER_MS).then(() => Promise.reject(new Error("no answer")));
    generation = String(await Promise.race([foreign.incr(`user_login_age:${user.replaceAll(",", "%2C")}`), late]));
  } catch {
    ended = { outcome: "unknown", code: "INCR" };
  }
  record({ kind: "incr", process, client, user, from, to: nowUs(), ...ended, generation });
};

/** A reset by mail: everybody is out. */
export const resetPassword: UserStep = async (world, user) => {
  const { process, client, record, users } = world;
  const from = nowUs();
  const version = await users.incr(`password:${user}`);
  const { outcome } = await endEverywhere(world, user);
  record({ kind: "password", process, client, user, version, from, to: nowUs(), outcome });
};

/** A change in the user's settings: this device stays in. */
export const changePassword: UserStep = async (world, user) => {
  const { process, client, record, users, pool, random } = world;
  const sid = pool.pick(user, random);
  if (sid === undefined) return;
  const from = nowUs();
  const version = await users.incr(`password:${user}`);
  const { outcome, created } = await exchange(world, "others", user, sid);
  record({ kind: "password", process, client, user, version, from, to: nowUs(), outcome, spared: created });
};

/** A visitor without a cookie whose session is stored; rarely under an ID that is in use: an application's own, bad `genid`. */
export const visit: UserStep = async (world, user) => {
  const { process, client, record, requests, publish, pool, random } = world;
  const value = world.newValue();
  const taken = random.chance(0.3) ? pool.pick(user, random) : undefined;
  if (taken !== undefined) requests.forceId(taken);
  const answered = await requests.send(undefined, async ({ req }) => setValue(req, value));
  const { cookie, endedAt, error } = answered;
  if (cookie === undefined) return;
  const ended = error === undefined ? DONE : endedBy(error, "one");
  const isForced = taken !== undefined;
  record({ kind: "visit", process, client, created: cookie, value, isForced, from: endedAt, to: nowUs(), ...ended });
  if (ended.outcome === "ok" && !isForced) publish("", cookie);
};
