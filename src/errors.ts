/**
 * Error classes and their stable codes. Branch on `code`, never on the message or on `instanceof`: a process may hold
 * both the ESM and the CommonJS copy of this library, and their classes differ.
 *
 * No message, `cause` or property here ever holds a session ID, token, cookie or user ID.
 */

/** Every `code` an operation failure of this library can carry. `docs/errors.md` has a section for each. */
export type ErrorCode =
  | "ERR_REDIS_UNAVAILABLE"
  | "ERR_REDIS_TIMEOUT"
  | "ERR_REDIS_REPLY"
  | "ERR_STORE_CLOSED"
  | "ERR_LOGIN_SUPERSEDED"
  | "ERR_NOT_LOGGED_IN"
  | "ERR_HEADERS_SENT"
  | "ERR_LOGOUT_UNCONFIRMED"
  | "ERR_SESSION_TOO_LARGE"
  | "ERR_SESSION_NOT_SERIALIZABLE"
  | "ERR_USER_ID_OPTION"
  | "ERR_SESSION_ENDED"
  | "ERR_TOKEN_COLLISION"
  | "ERR_LEASE_LOST";

/** What the failure classes share: a stable `code` and the HTTP `status` an Express error handler should answer with. */
export class LogoutEverywhereError extends Error {
  /** The class's name. */
  override readonly name: string = "LogoutEverywhereError";
  /** What failed: stable text to branch on. */
  readonly code: ErrorCode;
  /** The HTTP status that fits the failure. */
  readonly status: number;

  constructor(code: ErrorCode, status: number, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
  }
}

/**
 * Redis could not be asked, or did not answer as it must. Always `status: 503`; the store fails closed, so this never
 * means "no session". Codes: `ERR_REDIS_UNAVAILABLE` (no usable connection within the deadline, or it broke),
 * `ERR_REDIS_TIMEOUT` (sent, no reply within the deadline), `ERR_REDIS_REPLY` (an error reply or one of the wrong shape),
 * `ERR_STORE_CLOSED` (`close()` was called before).
 */
export class RedisError extends LogoutEverywhereError {
  override readonly name: string = "RedisError";
  /**
   * What is known of the command: `"not-sent"` and `"refused"` had no effect; `"unknown"` may have had one, so
   * nobody may replay it blindly.
   */
  readonly outcome: "not-sent" | "refused" | "unknown";

  constructor(
    code: "ERR_REDIS_UNAVAILABLE" | "ERR_REDIS_TIMEOUT" | "ERR_REDIS_REPLY" | "ERR_STORE_CLOSED",
    outcome: "not-sent" | "refused" | "unknown",
    message: string,
    cause?: unknown,
  ) {
    super(code, 503, message, cause);
    this.outcome = outcome;
  }
}

/**
 * A login, or the login an operation acts for, did not hold. Codes: `ERR_LOGIN_SUPERSEDED` (409: a logout overtook it),
 * `ERR_NOT_LOGGED_IN` (401: the request carries no login), `ERR_HEADERS_SENT` (500: too late to change the session ID).
 */
export class LoginError extends LogoutEverywhereError {
  override readonly name: string = "LoginError";

  constructor(
    code: "ERR_LOGIN_SUPERSEDED" | "ERR_NOT_LOGGED_IN" | "ERR_HEADERS_SENT",
    message: string,
    cause?: unknown,
  ) {
    const status = code === "ERR_LOGIN_SUPERSEDED" ? 409 : code === "ERR_NOT_LOGGED_IN" ? 401 : 500;
    super(code, status, message, cause);
  }
}

/** What a confirmed log out everywhere returns. */
export interface LogoutReceipt {
  /** The user that was logged out, as decimal text for numeric IDs. */
  readonly userId: string;
  /** The user's new generation; sessions stamped with any other are dead. */
  readonly generation: string;
  /** How many replicas acknowledged the new generation; 0 when none were asked for. */
  readonly replicas: number;
}

/**
 * A logout whose effect is not certain: no reply in time, a lost reply, a refusing server, or fewer replicas than asked
 * for. Code `ERR_LOGOUT_UNCONFIRMED`, `status: 503`. Repeating the call is safe and is what to do.
 */
export class LogoutUnconfirmedError extends LogoutEverywhereError {
  override readonly name: string = "LogoutUnconfirmedError";
  /** Present when the primary did take the new generation and only the replicas are missing. Not enumerable: it names the user. */
  declare readonly receipt: LogoutReceipt | undefined;

  constructor(message: string, cause?: unknown, receipt?: LogoutReceipt) {
    super("ERR_LOGOUT_UNCONFIRMED", 503, message, cause);
    // Loggers write what is enumerable, and user IDs do not belong into logs.
    Object.defineProperty(this, "receipt", { value: receipt });
  }
}

/**
 * Session data that cannot be stored; the record in Redis is as it was. Codes: `ERR_SESSION_TOO_LARGE`,
 * `ERR_SESSION_NOT_SERIALIZABLE` (a BigInt, a cycle, a throwing `toJSON`), `ERR_USER_ID_OPTION` (the `userId` option threw
 * or answered something that is no user ID).
 */
export class SessionDataError extends LogoutEverywhereError {
  override readonly name: string = "SessionDataError";

  constructor(
    code: "ERR_SESSION_TOO_LARGE" | "ERR_SESSION_NOT_SERIALIZABLE" | "ERR_USER_ID_OPTION",
    message: string,
    cause?: unknown,
  ) {
    super(code, 500, message, cause);
  }
}

/**
 * A submit token that could not be issued. Codes: `ERR_HEADERS_SENT` (500: the response has begun), `ERR_SESSION_ENDED` (401: the
 * request destroyed its session, or another request has ended it), `ERR_TOKEN_COLLISION` (500: random numbers repeat).
 */
export class SubmitTokenError extends LogoutEverywhereError {
  override readonly name: string = "SubmitTokenError";

  constructor(code: "ERR_HEADERS_SENT" | "ERR_SESSION_ENDED" | "ERR_TOKEN_COLLISION", message: string) {
    super(code, code === "ERR_SESSION_ENDED" ? 401 : 500, message);
  }
}

/**
 * A run under an idempotency key that must not go on. Code `ERR_LEASE_LOST`, `status: 409`: another request has taken the key over, as this
 * run gave no sign of life in time.
 */
export class IdempotencyError extends LogoutEverywhereError {
  override readonly name: string = "IdempotencyError";

  constructor(code: "ERR_LEASE_LOST", message: string) {
    super(code, 409, message);
  }
}
