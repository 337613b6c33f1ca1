import type { RedisConnection } from "../redis/connection.js";
import type { Deadline } from "../redis/deadline.js";
import { CookieReplacer } from "./cookie-replacer.js";
import { overwriteStored, storedSession } from "./foreign-data.js";
import type { Generations } from "./generations.js";
import { inOrder } from "./in-order.js";
import { hasLifetime } from "./lifetime.js";
import type { LifetimePlan } from "./lifetime-plan.js";
import { newNonce } from "./nonce.js";
import { cookiePrefix } from "./payload.js";
import type { RecentSessions } from "./recent-sessions.js";
import {
  anonymousHead,
  type HeadTemplate,
  headOfSavedBare,
  type StoredLogin,
  writtenHead,
  writtenLogin,
} from "./record.js";
import { newSave, RecordSaver } from "./record-saver.js";
import type { RetiredSessions } from "./retired-sessions.js";
import { deleteRecord } from "./scripts/delete-record.js";
import { insertRecord } from "./scripts/insert-record.js";
import { updateRecord } from "./scripts/update-record.js";
import { nonceOf, type SessionBinding } from "./session-binding.js";
import type { Stamp } from "./stamp.js";
import { onlyCookieDiffers, startsWithCookie, withCookie } from "./stored-cookie.js";
import type { SessionToucher } from "./toucher.js";

/** A session as it was at the moment of the call: later changes to the object belong to later saves. */
export interface SessionSnapshot {
  readonly payload: string;
  /** What the cookie says is left of the session, ms; 0 when it is over. */
  readonly lifetimeMs: number;
  /** The user the data names (`userId` option), encoded. */
  readonly dataUser: string | undefined;
}

/** `fenced`: the record has meanwhile been ended, or belongs to another login; nothing was written. */
export type WriteOutcome = "written" | "extended" | "removed" | "fenced" | "superseded";

/** Says how a user who appears in the data is stamped; `"ended"` when a logout has ended the login it would go on from. */
export type StampSource = (userText: string, deadline: Deadline) => Promise<Stamp | "ended">;

export interface WriterParts {
  readonly redis: RedisConnection;
  readonly generations: Generations;
  readonly recent: RecentSessions;
  readonly retired: RetiredSessions;
  readonly toucher: SessionToucher;
  readonly lifetimes: LifetimePlan;
  readonly sessionPrefix: string;
}

/** Writes sessions so that nothing that has ended comes back and nobody's login is renewed by the way. */
export class SessionWriter {
  readonly #parts: WriterParts;
  readonly #saver: RecordSaver;
  readonly #cookies: CookieReplacer;

  constructor(parts: WriterParts) {
    this.#parts = parts;
    this.#saver = new RecordSaver(parts.redis);
    this.#cookies = new CookieReplacer(parts);
  }

  /** Saves a snapshot, after all earlier saves of the same object. `stampFor` says how a user that appears is stamped. */
  save(sid: string, binding: SessionBinding, snapshot: SessionSnapshot, stampFor: StampSource): Promise<WriteOutcome> {
    const deadline = this.#parts.redis.deadline();
    const calledAt = this.#parts.retired.moment;
    return inOrder(binding, () => {
      const isPlain = binding.kind === "loaded" && snapshot.lifetimeMs > 0 && !changesUser(binding, snapshot);
      return isPlain
        ? this.#saveData(sid, binding, snapshot, deadline)
        : this.#saveAnything(sid, binding, snapshot, stampFor, { deadline, calledAt });
    });
  }

  /** Saves a session that goes on as the same user's. */
  #saveData(
    sid: string,
    binding: SessionBinding,
    snapshot: SessionSnapshot,
    deadline: Deadline,
  ): Promise<WriteOutcome> {
    if (snapshot.payload === binding.payload) return this.#extend(sid, binding.login, snapshot.lifetimeMs);
    if (binding.bare) return this.#update(sid, binding, snapshot, undefined, deadline);
    if (onlyCookieDiffers(binding.payload, snapshot.payload)) {
      return this.#cookies.replace(sid, binding, snapshot, deadline);
    }
    const { ttlMs, notAfterMs } = this.#parts.lifetimes.update(snapshot.lifetimeMs, binding.login, false);
    if (ttlMs === "" || notAfterMs !== "") return this.#update(sid, binding, snapshot, undefined, deadline);
    return this.#overwrite(sid, binding, snapshot, ttlMs, deadline);
  }

  async #saveAnything(
    sid: string,
    binding: SessionBinding,
    snapshot: SessionSnapshot,
    stampFor: StampSource,
    { deadline, calledAt }: { readonly deadline: Deadline; readonly calledAt: number },
  ): Promise<WriteOutcome> {
    if (binding.kind === "foreign") return await overwriteStored(this.#parts, sid, snapshot, deadline);
    const stamp = changesUser(binding, snapshot) ? await this.#stamp(snapshot, stampFor, deadline) : undefined;
    if (stamp === "ended") return "superseded";
    if (binding.kind === "loaded") return await this.#update(sid, binding, snapshot, stamp, deadline);
    const outcome = await this.#insert(sid, binding, snapshot, stamp, deadline);
    // destroy() did not wait for this save, and found nothing to delete yet.
    if (outcome !== "written" || !this.#parts.retired.isRetiredSince(sid, calledAt)) return outcome;
    await this.deleteHead(sid, binding.head, binding.bare, deadline);
    return "fenced";
  }

  /** Extends a session's life; if its cookie changed ("remember me"), stores that too and leaves the data alone. */
  touch(sid: string, binding: SessionBinding, cookie: unknown, lifetimeMs: number): Promise<WriteOutcome> {
    const { payload, kind } = binding;
    if (kind === "new") return Promise.resolve("extended");
    if (lifetimeMs === 0) return this.remove(sid, binding);
    if (kind === "foreign") return this.#touchStored(sid, cookie, lifetimeMs);
    // A bare record that no mount has given a cookie lives as long as its writer said, until somebody says otherwise.
    if (payload === undefined && !hasLifetime(cookie)) return Promise.resolve("extended");
    const prefix = cookiePrefix(cookie);
    if (payload === undefined || startsWithCookie(payload, prefix)) return this.#extend(sid, binding.login, lifetimeMs);
    const deadline = this.#parts.redis.deadline();
    return inOrder(binding, async () => {
      const current = withCookie(binding.payload ?? payload, prefix);
      if (current === undefined) return "fenced";
      const snapshot: SessionSnapshot = { payload: current, lifetimeMs, dataUser: binding.dataUser };
      if (binding.bare) return await this.#update(sid, binding, snapshot, undefined, deadline);
      return await this.#cookies.replace(sid, binding, snapshot, deadline);
    });
  }

  /** A touch by hand, with data of unknown origin: what is stored has to be looked at first. */
  async #touchStored(sid: string, cookie: unknown, lifetimeMs: number): Promise<WriteOutcome> {
    const stored = await storedSession(this.#parts, sid);
    if (stored === undefined) return "fenced";
    if (typeof cookie === "object" && cookie !== null) return await this.touch(sid, stored.binding, cookie, lifetimeMs);
    // Data without a cookie (`touch(sid, null)`) asks for no other life than the session has.
    const own = stored.cookie;
    return await this.touch(sid, stored.binding, own, this.#parts.lifetimes.ofCookie(own));
  }

  /** Removes a record whose cookie's time is over, if it is still the one that was loaded. */
  async remove(sid: string, { kind, head, bare }: SessionBinding): Promise<WriteOutcome> {
    const { redis, sessionPrefix } = this.#parts;
    if (kind === "new") return "removed";
    if (kind === "foreign") await redis.delete(sessionPrefix + sid);
    else await this.deleteHead(sid, head, bare);
    return "removed";
  }

  /** Deletes a record if it still has this head; true if it did. */
  deleteHead(sid: string, head: string, bare: boolean, deadline?: Deadline): Promise<boolean> {
    const { redis, sessionPrefix } = this.#parts;
    return redis.run(deleteRecord, sessionPrefix + sid, [head, bare ? "1" : ""], deadline);
  }

  /** Inserts a record under a new session ID; `undefined` if the key holds something that is not ours. */
  async insertHead(
    sid: string,
    head: HeadTemplate,
    payload: string,
    life: { readonly ttlMs: number; readonly lifetimeMs: number },
    deadline: Deadline,
  ): Promise<string | undefined> {
    const { redis, recent, sessionPrefix } = this.#parts;
    const sentAtMs = performance.now();
    const args = [head.before, head.after, payload, String(life.ttlMs)];
    const reply = await redis.run(insertRecord, sessionPrefix + sid, args, deadline);
    if (reply.kind !== "written") return undefined;
    recent.rememberExtension(sid, sentAtMs, life.lifetimeMs);
    return reply.at;
  }

  /** How the head changes by what the data now says about its user. */
  async #stamp({ dataUser }: SessionSnapshot, stampFor: StampSource, deadline: Deadline): Promise<Stamp | "ended"> {
    if (dataUser !== undefined) return await stampFor(dataUser, deadline);
    return { head: anonymousHead(newNonce()), login: undefined, confirm: false };
  }

  async #insert(
    sid: string,
    binding: SessionBinding,
    snapshot: SessionSnapshot,
    stamp: Stamp | undefined,
    deadline: Deadline,
  ): Promise<WriteOutcome> {
    if (snapshot.lifetimeMs === 0) return "removed";
    const head = stamp?.head ?? anonymousHead(nonceOf(binding));
    const { lifetimeMs } = snapshot;
    const ttlMs = this.#parts.lifetimes.ttlMs(lifetimeMs, stamp?.login);
    const inserted = this.insertHead(sid, head, snapshot.payload, { ttlMs, lifetimeMs }, deadline);
    const [at, confirmed] = await this.#withConfirmation(inserted, stamp, deadline).catch((error: unknown) => {
      // A login that is answered with an error must not be one, whatever became of the record.
      if (stamp?.confirm === true) this.#giveUp(sid, binding, head, stamp, snapshot);
      throw error;
    });
    // A fenced insert keeps a head that no record has: later saves of this object are fenced as well.
    adopt(binding, head, at ?? "", stamp, snapshot);
    if (at === undefined) return "fenced";
    return confirmed ? "written" : await this.#withdraw(sid, binding, deadline);
  }

  async #update(
    sid: string,
    binding: SessionBinding,
    snapshot: SessionSnapshot,
    stamp: Stamp | undefined,
    deadline: Deadline,
  ): Promise<WriteOutcome> {
    const { redis, recent, sessionPrefix, lifetimes } = this.#parts;
    const kept = binding.bare ? headOfSavedBare(binding.head) : binding.head;
    const head = stamp?.head ?? { before: kept, after: "" };
    const login = stamp === undefined ? binding.login : stamp.login;
    const { ttlMs, notAfterMs } = lifetimes.update(snapshot.lifetimeMs, login, stamp?.confirm === true);
    const sentAtMs = performance.now();
    const args = [binding.head, binding.bare ? "1" : "", head.before, head.after, snapshot.payload, ttlMs, notAfterMs];
    const [reply, confirmed] = await this.#withConfirmation(
      redis.run(updateRecord, sessionPrefix + sid, args, deadline),
      stamp,
      deadline,
    );
    if (reply.kind !== "written") return reply.kind;
    adopt(binding, head, reply.at, stamp, snapshot);
    recent.rememberExtension(sid, sentAtMs, snapshot.lifetimeMs);
    return confirmed ? "written" : await this.#withdraw(sid, binding, deadline);
  }

  /** The plain save: only the payload is new. */
  async #overwrite(
    sid: string,
    binding: SessionBinding,
    snapshot: SessionSnapshot,
    ttlMs: string,
    deadline: Deadline,
  ): Promise<WriteOutcome> {
    const { recent, sessionPrefix } = this.#parts;
    const { head } = binding;
    const sentAtMs = performance.now();
    const save = newSave(sessionPrefix + sid, head, snapshot.payload, ttlMs, deadline);
    await this.#saver.add(save);
    if (!this.#saver.isWritten(save)) return "fenced";
    adopt(binding, { before: head, after: "" }, "", undefined, snapshot);
    recent.rememberExtension(sid, sentAtMs, snapshot.lifetimeMs);
    return "written";
  }

  /** Sends a write and, for a new stamp, the question whether its generation still holds right behind it. */
  async #withConfirmation<T>(
    write: Promise<T>,
    stamp: Stamp | undefined,
    deadline: Deadline,
  ): Promise<[written: T, confirmed: boolean]> {
    if (stamp?.login === undefined || !stamp.confirm) return [await write, true];
    const { userText, generation } = stamp.login;
    return await Promise.all([write, this.#parts.generations.confirm(userText, generation, deadline)]);
  }

  /** Removes a new record of unknown fate, in the background, and fences later saves of the object. */
  #giveUp(sid: string, binding: SessionBinding, head: HeadTemplate, stamp: Stamp, snapshot: SessionSnapshot): void {
    const { redis, sessionPrefix } = this.#parts;
    adopt(binding, head, "", stamp, snapshot);
    binding.login = undefined;
    redis.delete(sessionPrefix + sid).catch(() => undefined);
  }

  /** A logout overtook the login that was just written: take it back. It was dead already; this frees the memory. */
  async #withdraw(sid: string, binding: SessionBinding, deadline: Deadline): Promise<WriteOutcome> {
    await this.deleteHead(sid, binding.head, binding.bare, deadline);
    return "superseded";
  }

  async #extend(sid: string, login: StoredLogin | undefined, lifetimeMs: number): Promise<WriteOutcome> {
    const { recent, toucher, lifetimes, sessionPrefix } = this.#parts;
    const nowMs = performance.now();
    if (recent.wasExtended(sid, nowMs, lifetimeMs, lifetimes.slackMs(lifetimeMs))) return "extended";
    const extension = lifetimes.extension(lifetimeMs, login);
    if (extension === undefined) return "extended";
    await toucher.extend({ key: sessionPrefix + sid, ...extension });
    recent.rememberExtension(sid, nowMs, lifetimeMs);
    return "extended";
  }
}

function changesUser(binding: SessionBinding, { dataUser }: SessionSnapshot): boolean {
  return dataUser !== binding.dataUser && dataUser !== binding.login?.userText;
}

/** From now on the object stands for the record that was just written. */
function adopt(
  binding: SessionBinding,
  head: HeadTemplate,
  at: string,
  stamp: Stamp | undefined,
  { payload, dataUser }: SessionSnapshot,
): void {
  binding.kind = "loaded";
  binding.head = writtenHead(head, at);
  binding.bare = false;
  binding.payload = payload;
  binding.dataUser = dataUser;
  if (stamp !== undefined) binding.login = writtenLogin(stamp.login, at);
}
