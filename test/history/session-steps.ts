import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { SessionRequest } from "../../src/index.js";
import type { Read, Seen, Span } from "./operations.js";
import { type Answered, type Arrived, cookieHeader, nowUs, SECRET, seenIn } from "./requests.js";
import { attempt, DONE, type Ended, endedBy, sleep, type World } from "./world.js";

/** What clients do with a session they have a cookie of. `user` is whose cookie it is; `""` for an anonymous one. */
export type SessionStep = (world: World, user: string, sid: string) => Promise<void>;

/** Notes what a read saw; a session that is gone is tried less and less often. */
export function noteRead(
  world: World,
  user: string,
  sid: string,
  span: Span,
  read: Ended & { seen?: Seen | null },
): void {
  const { process, client, record, pool, random } = world;
  const { seen, ...ended } = read;
  record({
    kind: "read",
    process,
    client,
    sid,
    ...span,
    ...ended,
    ...(seen === undefined ? {} : { seen }),
  } satisfies Read);
  if (seen === null) pool.foundEnded(user, sid, random);
}

/** Sends a request, notes what it found, and lets `act` go on if the session is there. */
export async function visitWith(
  world: World,
  user: string,
  sid: string,
  act: (arrived: Arrived) => Promise<void> = async () => undefined,
): Promise<Answered> {
  const from = nowUs();
  const answered = await world.requests.send(sid, async (arrived) => {
    const { seen = null, arrivedAt } = arrived;
    noteRead(world, user, sid, { from, to: arrivedAt }, { ...DONE, seen });
    if (seen !== null) await act(arrived);
  });
  if (!answered.hasArrived) {
    noteRead(world, user, sid, { from, to: nowUs() }, endedBy(answered.error, "one"));
  }
  return answered;
}

/** Now and then a handler takes its time: long enough for others to end its session meanwhile. */
export async function takeTime({ random }: World): Promise<void> {
  if (random.chance(0.6)) await sleep(random.between(0, 50));
}

export const readByRequest: SessionStep = async (world, user, sid) => {
  await visitWith(world, user, sid);
};

/** A long poll that changes nothing: it ends with a touch. */
export const poll: SessionStep = async (world, user, sid) => {
  await visitWith(world, user, sid, () => sleep(world.random.between(1, 40)));
};

export const readByStore: SessionStep = async (world, user, sid) => {
  const from = nowUs();
  let seen: Seen | null | undefined;
  const ended = await attempt("one", async () => {
    const data = await world.store.get(sid);
    seen = data === null ? null : seenIn(data);
  });
  noteRead(world, user, sid, { from, to: nowUs() }, { ...ended, ...(seen === undefined ? {} : { seen }) });
};

export const readByUpgrade: SessionStep = async (world, user, sid) => {
  const from = nowUs();
  const req = new IncomingMessage(new Socket());
  req.headers.cookie = cookieHeader(sid);
  let seen: Seen | null | undefined;
  const ended = await attempt("one", async () => {
    const data = await world.store.readRequest(req, { secret: SECRET });
    seen = data === null ? null : seenIn(data);
  });
  noteRead(world, user, sid, { from, to: nowUs() }, { ...ended, ...(seen === undefined ? {} : { seen }) });
};

/** A long handler that asks again before it does something irreversible. */
export const askAgain: SessionStep = async (world, user, sid) => {
  await visitWith(world, user, sid, async ({ req, seen }) => {
    if (seen === null || seen === undefined || seen.user === "") return;
    await takeTime(world);
    const from = nowUs();
    let isCurrent: boolean | undefined;
    const ended = await attempt("one", async () => {
      isCurrent = await world.store.isCurrent(req);
    });
    const again = isCurrent === undefined ? undefined : isCurrent ? { ...seen, value: undefined } : null;
    noteRead(world, user, sid, { from, to: nowUs() }, { ...ended, ...(again === undefined ? {} : { seen: again }) });
  });
};

/** Changes the session's data; express-session saves it at the end of the response. */
export const save: SessionStep = async (world, user, sid) => {
  const value = world.newValue();
  let hasChanged = false;
  const answered = await visitWith(world, user, sid, async ({ req }) => {
    await takeTime(world);
    hasChanged = true;
    setValue(req, value);
  });
  if (hasChanged) noteSave(world, sid, value, answered);
};

/** Changes the session's data and saves it itself, before the response ends. */
export const saveByHand: SessionStep = async (world, user, sid) => {
  const { process, client, record } = world;
  await visitWith(world, user, sid, async ({ req }) => {
    await takeTime(world);
    const value = world.newValue();
    setValue(req, value);
    const from = nowUs();
    const ended = await attempt("one", () => called((done) => req.session.save(done)));
    record({ kind: "save", process, client, sid, value, from, to: nowUs(), ...ended });
  });
};

export const destroy: SessionStep = async (world, user, sid) => {
  const { process, client, record, store, random } = world;
  const end = async (run: () => Promise<unknown>): Promise<void> => {
    const from = nowUs();
    const ended = await attempt("one", run);
    record({ kind: "destroy", process, client, sid, from, to: nowUs(), ...ended });
  };
  if (random.chance(0.3)) {
    await end(() => store.destroy(sid));
    return;
  }
  await visitWith(world, user, sid, async ({ req }) => {
    await takeTime(world);
    await end(() => called((done) => req.session.destroy(done)));
  });
};

/** Leaves the session behind for an anonymous new one, which is stored. */
export const regenerate: SessionStep = async (world, user, sid) => {
  const { process, client, record, publish } = world;
  const value = world.newValue();
  let isNew = false;
  const answered = await visitWith(world, user, sid, async ({ req }) => {
    await takeTime(world);
    const from = nowUs();
    const ended = await attempt("several", () => called((done) => req.session.regenerate(done)));
    record({ kind: "regenerate", process, client, sid, from, to: nowUs(), ...ended });
    isNew = true;
    setValue(req, value);
  });
  const { cookie, error, endedAt: from } = answered;
  if (!isNew || cookie === undefined) return;
  const ended = error === undefined ? DONE : endedBy(error, "several");
  record({ kind: "visit", process, client, created: cookie, value, from, to: nowUs(), ...ended });
  if (ended.outcome === "ok") publish("", cookie);
};

/** Puts a value into the request's session. */
export function setValue(req: SessionRequest, value: string): void {
  Object.assign(req.session, { value });
}

/** Notes the save that ended a response. */
export function noteSave(world: World, sid: string, value: string, answered: Answered): void {
  const { process, client, record } = world;
  const { error, endedAt: from, isSaved } = answered;
  const ended: Ended = error !== undefined ? endedBy(error, "one") : isSaved ? DONE : { outcome: "refused" };
  record({ kind: "save", process, client, sid, value, from, to: nowUs(), ...ended });
}

function called(call: (done: (error?: unknown) => void) => unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    call((error) => (error === undefined || error === null ? resolve() : reject(error)));
  });
}
