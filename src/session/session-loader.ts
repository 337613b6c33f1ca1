import type { SessionData } from "express-session";
import type { RedisConnection } from "../redis/connection.js";
import type { DataUser } from "./data-user.js";
import { UNTOUCHED } from "./in-order.js";
import type { LifetimePlan } from "./lifetime-plan.js";
import { emptySessionData, parsePayload } from "./payload.js";
import type { ReadOutcome } from "./read-outcome.js";
import type { StoredRecord } from "./record.js";
import type { SignedOutReason } from "./request-state.js";
import type { RetiredSessions } from "./retired-sessions.js";
import { fadeRecord } from "./scripts/fade-record.js";
import { bindData, type SessionBinding } from "./session-binding.js";
import type { CorruptEvent, StoreEvents } from "./store-events.js";

/** A session that may be used, or why there is none. */
export type LoadOutcome =
  | { readonly data: SessionData; readonly reason: undefined }
  | { readonly data: null; readonly reason: SignedOutReason };

export interface LoaderParts {
  readonly redis: RedisConnection;
  readonly reader: { read<T>(sid: string, use: (outcome: ReadOutcome) => T): Promise<T> };
  readonly dataUser: DataUser;
  readonly lifetimes: LifetimePlan;
  readonly retired: RetiredSessions;
  readonly events: StoreEvents;
  readonly sessionPrefix: string;
}

const NOT_FOUND: LoadOutcome = { data: null, reason: "not_found" };
const LOGGED_OUT: LoadOutcome = { data: null, reason: "logged_out" };

/** Reads sessions and turns records into session data, bound to what they were read as. */
export class SessionLoader {
  readonly #parts: LoaderParts;

  constructor(parts: LoaderParts) {
    this.#parts = parts;
  }

  load(sid: string): Promise<LoadOutcome> {
    const readAt = this.#parts.retired.moment;
    return this.#parts.reader.read(sid, (outcome) => this.#conclude(sid, outcome, readAt));
  }

  #conclude(sid: string, outcome: ReadOutcome, readAt: number): LoadOutcome {
    switch (outcome.kind) {
      case "live":
        return this.#use(sid, outcome.record, readAt);
      case "stale":
        this.#fade(sid, outcome.record);
        return LOGGED_OUT;
      case "uncounted":
        return LOGGED_OUT;
      case "corrupt":
        return this.#unusable("record");
      case "absent":
        return NOT_FOUND;
    }
  }

  #use(sid: string, record: StoredRecord, readAt: number): LoadOutcome {
    const { dataUser, lifetimes } = this.#parts;
    if (lifetimes.isOver(record.login)) return NOT_FOUND;
    const data = record.payload === undefined ? emptySessionData() : parsePayload(record.payload);
    if (data === "corrupt") return this.#unusable("payload");
    if (data === "over") return NOT_FOUND;
    let named: string | undefined;
    try {
      named = dataUser.of(data);
    } catch {
      return this.#unusable("userId option");
    }
    if (named !== undefined && named !== record.login?.userText) return this.#unusable("user");
    bindData(data, loadedBinding(sid, record, named, readAt));
    return { data, reason: undefined };
  }

  #unusable(part: CorruptEvent["part"]): LoadOutcome {
    this.#parts.events.emit("corrupt", { part });
    return NOT_FOUND;
  }

  /** Shortens the life of a dead record, in the background: nobody waits for it, and nothing depends on it. */
  #fade(sid: string, { head, payload }: StoredRecord): void {
    const { redis, retired, sessionPrefix } = this.#parts;
    retired.retire(sid);
    redis.run(fadeRecord, sessionPrefix + sid, [head, payload === undefined ? "1" : ""]).catch(() => undefined);
  }
}

function loadedBinding(
  sid: string,
  { head, login, payload }: StoredRecord,
  dataUser: string | undefined,
  readAt: number,
): SessionBinding {
  const bare = payload === undefined;
  return { sid, kind: "loaded", head, bare, login, payload, dataUser, nonce: undefined, readAt, tail: UNTOUCHED };
}
