import type { IncomingMessage } from "node:http";
import type { Session, SessionData } from "express-session";
import { kindOf, misuse } from "../check.js";
import { LoginError } from "../errors.js";
import { bindingOf, type SessionBinding } from "./session-binding.js";

/** A request that has passed express-session; Express' own `Request` fits. */
export interface SessionRequest extends IncomingMessage {
  /** The session, as express-session set it. */
  session: Session & Partial<SessionData>;
  /** The ID in the session cookie. */
  sessionID: string;
}

/** A request's session as it is now. */
export interface CurrentSession {
  readonly sid: string;
  readonly session: SessionRequest["session"];
  readonly binding: SessionBinding;
}

/**
 * The request's session; throws a `TypeError` if the request has none that this store could know, and, unless `"even if ended"`,
 * `ERR_LOGIN_SUPERSEDED` if another request has ended it.
 */
export function currentSession(where: string, req: unknown, when?: "even if ended"): CurrentSession {
  if (typeof req !== "object" || req === null) {
    throw misuse(`${where}: expected a request, got ${kindOf(req)}`, "ERR_INVALID_ARG_TYPE");
  }
  const { session, sessionID: sid } = req as Partial<SessionRequest>;
  const binding = typeof session === "object" && session !== null ? bindingOf(session) : undefined;
  if (session === undefined || binding === undefined) {
    throw misuse(
      `${where}: expected a request with a session of this store, got one without; mount session({ store }) before`,
      "ERR_INVALID_ARG_VALUE",
    );
  }
  if (typeof sid !== "string") {
    if (when === "even if ended" && binding.sid !== undefined) return { sid: binding.sid, session, binding };
    throw new LoginError("ERR_LOGIN_SUPERSEDED", "The request's session has been ended by another request meanwhile");
  }
  return { sid, session, binding };
}

/** Throws `ERR_HEADERS_SENT` if the response has begun: a new session ID could no longer reach the browser. */
export function ensureHeadersOpen(req: object): void {
  const { res } = req as { readonly res?: { readonly headersSent?: boolean } };
  if (res?.headersSent === true) {
    throw new LoginError(
      "ERR_HEADERS_SENT",
      "The response has begun, so a new session cookie cannot be sent; change the session ID before writing",
    );
  }
}
