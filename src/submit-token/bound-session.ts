import type { IncomingMessage } from "node:http";
import { kindOf, misuse } from "../check.js";
import { digest } from "../digest.js";
import {
  dataNames,
  type HttpSession,
  identityOf,
  mayBeUnstored,
  sessionOf,
  TOKEN_SESSION_FIELD,
} from "../http/session-identity.js";

/** What a token of this session for this action is bound to: a digest that changes with the session ID and with every login. */
export function bindingOf(req: IncomingMessage, action: string): string | undefined {
  const found = sessionOf(req);
  return found && digest("submit token binding", found.sid, ...identityOf(found.session), action);
}

/** The name of a session's index of tokens, which tells nothing of its ID. */
export function indexNameOf(req: IncomingMessage): string {
  return digest("submit token session", sessionOf(req)?.sid ?? "");
}

/** Throws a `TypeError` for what is no request, or one that has not passed `session()`. */
export function checkSession(where: string, req: unknown): asserts req is IncomingMessage {
  if (typeof req !== "object" || req === null) {
    throw misuse(`${where}: expected a request, got ${kindOf(req)}`, "ERR_INVALID_ARG_TYPE");
  }
  if (!("session" in req) && !("sessionID" in req)) {
    throw misuse(
      `${where}: expected a request with a session, got one without; mount session() before`,
      "ERR_INVALID_ARG_VALUE",
    );
  }
}

/**
 * Makes sure that the session is there to be bound to: one that is new or was changed by this request is stored before the token
 * leaves. With `saveUninitialized: false` an untouched session would get another ID on each request.
 */
export async function storeSession(session: HttpSession, ttlMs: number): Promise<void> {
  const forTokenMs = session[TOKEN_SESSION_FIELD];
  if (typeof forTokenMs === "number" ? forTokenMs < ttlMs : mayBeUnstored(session) && dataNames(session).length === 0) {
    session[TOKEN_SESSION_FIELD] = ttlMs;
  }
  await new Promise<void>((resolve, reject) => {
    session.save((error) => (error ? reject(error as Error) : resolve()));
  });
}
