/** Times are microseconds of the machine's monotonic clock, the same for all processes on it. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * How an operation ended, as far as its caller can tell: `ok`; `refused` with a reason that says nothing was done for this
 * caller (logged out meanwhile, not logged in); `void`: failed, and certain to have had no effect; `unknown`: failed, and may
 * have had its effect or may still have it.
 */
export type Outcome = "ok" | "refused" | "void" | "unknown";

/** What a read saw under a session ID: `null` for no session. */
export interface Seen {
  /** `""` when the session is anonymous. */
  readonly user: string;
  readonly generation: string;
  /** The last value that was saved, as the session's data has it; `undefined` when that was not looked at. */
  readonly value?: string | undefined;
}

interface Recorded extends Span {
  readonly process: number;
  readonly client: number;
  readonly outcome: Outcome;
  /** The error's code. */
  readonly code?: string | undefined;
}

/** A read that was answered with an error has no `seen`. */
export interface Read extends Recorded {
  readonly kind: "read";
  readonly sid: string;
  readonly seen?: Seen | null | undefined;
}

/** An anonymous session was stored for the first time. */
export interface Visit extends Recorded {
  readonly kind: "visit";
  readonly created: string;
  readonly value: string;
  /** The application's `genid` gave out an ID that was in use: the visit may have it only if that session has ended. */
  readonly isForced?: boolean | undefined;
}

/** Signing in; `sid` is the session that the request had before, if it had one. */
export interface Login extends Recorded {
  readonly kind: "login";
  readonly user: string;
  readonly sid?: string | undefined;
  readonly begun: Span;
  /** The generation the attempt was begun under. */
  readonly generation: string;
  /** The version of the password that was checked. */
  readonly password: number;
  readonly created?: string | undefined;
  /** The session ID in the response's cookie, if it has one. */
  readonly cookie?: string | undefined;
}

/** Moving a session to a new ID: `others` also logs out all the user's other sessions. */
export interface Exchange extends Recorded {
  readonly kind: "rotate" | "others";
  readonly user: string;
  readonly sid: string;
  readonly created?: string | undefined;
  /** Of `others`: the new generation. */
  readonly generation?: string | undefined;
  readonly cookie?: string | undefined;
}

/** Logging a user out everywhere: by the library, or by an INCR from elsewhere. */
export interface Everywhere extends Recorded {
  readonly kind: "everywhere" | "incr";
  readonly user: string;
  readonly generation?: string | undefined;
}

/** Ending one session: `destroy()` or `regenerate()`. */
export interface Ending extends Recorded {
  readonly kind: "destroy" | "regenerate";
  readonly sid: string;
}

/** A save of changed data; `refused` when nothing was written since the session had been ended. */
export interface Save extends Recorded {
  readonly kind: "save";
  readonly sid: string;
  readonly value: string;
}

/** The end of a request that changed nothing. */
export interface Touch extends Recorded {
  readonly kind: "touch";
  readonly sid: string;
}

/** A password change as a whole: the new password is stored, then the log out it needs. */
export interface PasswordChange extends Recorded {
  readonly kind: "password";
  readonly user: string;
  readonly version: number;
  /** The session that made the change and stayed signed in, by its new ID. */
  readonly spared?: string | undefined;
}

export type Operation = Read | Visit | Login | Exchange | Everywhere | Ending | Save | Touch | PasswordChange;

/** A broken rule. */
export interface Violation {
  readonly rule: Rule;
  readonly message: string;
  /** What shows it, in order. */
  readonly operations: readonly Operation[];
}

/** The rules a history is held against, each with what a violation of it means. */
export const RULES = {
  "logged-out-read": "a read returned a login that a confirmed logout of the user had ended before the read began",
  "old-password-read": "a read returned a login made with a password that had been changed before the read began",
  "ended-read": "a read returned a session that had been ended by its ID before the read began",
  revived: "a read returned a session that an earlier read had found gone",
  "foreign-read": "a read returned another user's session, or another generation than the session was made under",
  "lost-session": "a read found no session, although nothing had ended it",
  "refused-without-cause": "an operation was refused because of a logout that did not happen",
  "superseded-login": "a login succeeded although the user was logged out between its password check and it",
  "ended-exchange": "a session that had been ended was moved to a new ID",
  "failed-login-cookie": "the response to a failed login carried a session cookie",
  "lost-save": "a read returned data older than a save that had succeeded before it began",
  "generation-order": "a generation was used twice, or a later one is lower",
  "reused-session-id": "one session ID was given out twice",
} as const;

export type Rule = keyof typeof RULES;
