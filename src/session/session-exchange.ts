import { LoginError } from "../errors.js";
import type { RedisConnection } from "../redis/connection.js";
import type { DataUser } from "./data-user.js";
import type { LifetimePlan } from "./lifetime-plan.js";
import type { LogoutJournal } from "./logout-journal.js";
import type { MountGenerate } from "./mount-generate.js";
import { newNonce } from "./nonce.js";
import { type HeadTemplate, type StoredLogin, writtenHead, writtenLogin } from "./record.js";
import { holdLogin } from "./request-state.js";
import type { RetiredSessions } from "./retired-sessions.js";
import { takeRecord } from "./scripts/take-record.js";
import { bindSession, newBinding, type SessionBinding } from "./session-binding.js";
import { type CurrentSession, ensureHeadersOpen, type SessionRequest } from "./session-request.js";
import type { SessionWriter } from "./session-writer.js";
import { takenMark } from "./taken-mark.js";

export interface ExchangeParts {
  readonly redis: RedisConnection;
  readonly writer: SessionWriter;
  readonly retired: RetiredSessions;
  readonly journal: LogoutJournal;
  readonly lifetimes: LifetimePlan;
  readonly dataUser: DataUser;
  readonly mount: MountGenerate;
  readonly serialize: (session: object) => string;
  readonly sessionPrefix: string;
}

/** A session prepared to take the place of a request's current one. */
export interface FreshSession {
  readonly sid: string;
  readonly session: SessionRequest["session"];
  readonly binding: SessionBinding;
}

/** What of the old session's data the new one gets: nothing, all, or the named fields. */
export type Keep = true | readonly string[] | undefined;

/**
 * Exchanges a request's session for one under a new session ID. Until `adopt` the request keeps its old session, so an
 * operation that fails half-way leaves it as it was, and the new ID never reaches a client.
 */
export class SessionExchange {
  readonly #parts: ExchangeParts;

  constructor(parts: ExchangeParts) {
    this.#parts = parts;
  }

  /** Makes the new session as the mount would (its `genid`, its cookie settings), without putting it on the request. */
  prepare(req: SessionRequest, old: CurrentSession, keep: Keep): FreshSession {
    const ownId = Object.getOwnPropertyDescriptor(req, "sessionID");
    Object.defineProperty(req, "sessionID", { value: old.sid, writable: true, configurable: true, enumerable: true });
    let fresh: FreshSession;
    try {
      this.#parts.mount.on(req);
      fresh = { sid: req.sessionID, session: req.session, binding: newBinding(req.sessionID) };
    } finally {
      req.session = old.session;
      if (ownId !== undefined) Object.defineProperty(req, "sessionID", ownId);
    }
    copyData(old.session, fresh.session, keep);
    bindSession(fresh.session, fresh.binding);
    return fresh;
  }

  /** Stores the new session's record. Throws, and leaves nothing behind, if that is not certain to have worked. */
  async insert(fresh: FreshSession, head: HeadTemplate, login: StoredLogin | undefined): Promise<void> {
    const { writer, lifetimes, dataUser, redis, serialize } = this.#parts;
    const { binding, session, sid } = fresh;
    const payload = serialize(session);
    const named = dataUser.of(session);
    const lifetimeMs = Math.max(1, lifetimes.ofCookie(session.cookie));
    const ttlMs = lifetimes.ttlMs(lifetimeMs, login);
    let at: string | undefined;
    try {
      at = await writer.insertHead(sid, head, payload, { ttlMs, lifetimeMs }, redis.deadline());
    } catch (error) {
      this.discard(fresh);
      throw error;
    }
    if (at === undefined) {
      throw new LoginError("ERR_LOGIN_SUPERSEDED", "The new session ID is in use already; check the genid option");
    }
    Object.assign(binding, {
      kind: "loaded",
      head: writtenHead(head, at),
      login: writtenLogin(login, at),
      payload,
      dataUser: named,
    });
  }

  /** Removes a new record that is not to be used. In the background: its ID is known to nobody. */
  discard({ sid }: FreshSession): void {
    const { redis, sessionPrefix } = this.#parts;
    redis.delete(sessionPrefix + sid).catch(() => undefined);
  }

  /**
   * Ends the old record, for one exchange only: false if the session has been ended, or exchanged, by somebody else.
   * The mark it leaves is removed in the background.
   */
  async take({ sid, binding }: CurrentSession): Promise<boolean> {
    const { redis, sessionPrefix } = this.#parts;
    // Data of unknown origin has no head to compare, and an empty one would match every record.
    if (binding.kind !== "loaded") return false;
    const key = sessionPrefix + sid;
    const args = [binding.head, binding.bare ? "1" : "", takenMark(newNonce())];
    const taken = await redis.run(takeRecord, key, args);
    if (!taken) return false;
    this.#parts.journal.noteEnding(sid, `${binding.head}-`);
    redis.delete(key).catch(() => undefined);
    return true;
  }

  /** Puts the new session on the request and retires the old ID. */
  adopt(req: SessionRequest, old: CurrentSession, fresh: FreshSession): void {
    ensureHeadersOpen(req);
    req.sessionID = fresh.sid;
    req.session = fresh.session;
    this.#parts.retired.retire(old.sid);
    holdLogin(req, fresh.binding.login);
  }
}

function copyData(from: object, to: object, keep: Keep): void {
  if (keep === undefined) return;
  const source = from as Record<string, unknown>;
  const target = to as Record<string, unknown>;
  for (const name of keep === true ? Object.keys(source) : keep) {
    if (name !== "cookie" && Object.hasOwn(source, name) && !(name in target)) target[name] = source[name];
  }
}
