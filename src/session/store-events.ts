/**
 * Events of `GenerationStore`, for logs and metrics. None carries a session ID, user ID, token or content.
 */
export interface StoreEventMap {
  /** A save or touch found its session ended or under another login, and wrote nothing. The page was not disturbed. */
  fenced: FencedEvent;
  /** Something that is no usable session stands under a session key; the visitor got a fresh session. */
  corrupt: CorruptEvent;
  /** An anonymous session was saved whose data looks signed in: a login that did not go through the store. */
  unprotected: UnprotectedEvent;
  /** A log out everywhere or of others took effect. */
  logout: LogoutEvent;
  /** A logout that Redis had lost (failover, restored dump) was found missing and applied again. */
  reapplied: ReappliedEvent;
}

/** A save or touch that came too late and wrote nothing. */
export interface FencedEvent {
  /** What was tried. */
  readonly operation: "save" | "touch";
  /** `superseded`: the login that was being saved had been overtaken by a logout. */
  readonly reason: "ended" | "superseded";
}

/** Something unusable under a session key. */
export interface CorruptEvent {
  /** What is wrong: the record's form, its JSON, a user in the data who is not the record's, or the `userId` option's failure. */
  readonly part: "record" | "payload" | "user" | "userId option";
}

/** An unprotected login; carries nothing, for whatever could be said of it is personal. */
export type UnprotectedEvent = Readonly<Record<string, never>>;

/** A logout that had been lost and took effect again. */
export interface ReappliedEvent {
  /** `generation`: a log out everywhere or of others; `session`: the end of a single session. */
  readonly what: "generation" | "session";
}

/** A logout that took effect. */
export interface LogoutEvent {
  /** `everywhere`: all sessions of the user ended; `others`: all but the one that asked. */
  readonly scope: "everywhere" | "others";
  /** The user's new generation, decimal text. */
  readonly generation: string;
  /** How many replicas acknowledged it; 0 when none were asked for. */
  readonly replicas: number;
  /** What the caller gave as `reason`. */
  readonly reason: string | undefined;
}

/** Emits without letting a listener's error into the operation that emitted. */
export class StoreEvents {
  readonly #emit: (name: string, event: unknown) => void;

  constructor(emit: (name: string, event: unknown) => void) {
    this.#emit = emit;
  }

  emit<Name extends keyof StoreEventMap>(name: Name, event: StoreEventMap[Name]): void {
    process.nextTick(this.#emit, name, event);
  }
}
