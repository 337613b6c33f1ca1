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
}

export interface FencedEvent {
  readonly operation: "save" | "touch";
  /** `superseded`: the login that was being saved had been overtaken by a logout. */
  readonly reason: "ended" | "superseded";
}

export interface CorruptEvent {
  /** What is wrong: the record's form, its JSON, a user in the data who is not the record's, or the `userId` option's failure. */
  readonly part: "record" | "payload" | "user" | "userId option";
}

export type UnprotectedEvent = Readonly<Record<string, never>>;

export interface LogoutEvent {
  readonly scope: "everywhere" | "others";
  readonly generation: string;
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
