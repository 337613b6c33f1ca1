import type { IncomingMessage } from "node:http";

/**
 * What features beside src/session know of a request's session. They never import src/session: the store leaves what it knows
 * under this symbol, the same in the library's ESM and CommonJS copies.
 */
export const SESSION_BINDING: unique symbol = Symbol.for("logout-everywhere.session") as never;

/**
 * Session data under this name says that an anonymous session was stored for a submit token: as long as it holds nothing
 * else, it lives only that many milliseconds.
 */
export const TOKEN_SESSION_FIELD = "submitTokenMs";

/** The part of the store's binding that identifies a session. */
interface StoredIdentity {
  readonly kind: "new" | "loaded" | "foreign";
  readonly head: string;
  readonly login: { readonly userText: string; readonly generation: string } | undefined;
}

/** What express-session puts on a request, as far as it is used here. */
export interface HttpSession {
  cookie?: { readonly secure?: unknown };
  save(callback: (error?: unknown) => void): unknown;
  [field: string]: unknown;
}

/** The session of a request that has passed express-session; `undefined` if there is none or it was ended meanwhile. */
export function sessionOf(req: IncomingMessage): { readonly sid: string; readonly session: HttpSession } | undefined {
  const { session, sessionID: sid } = req as { session?: HttpSession | null; sessionID?: unknown };
  if (typeof session !== "object" || session === null || typeof sid !== "string") return undefined;
  return { sid, session };
}

/**
 * Whose session it is, under which generation and nonce: changes with every login, also where the session ID stays. Empty for
 * a session that was never stored, or is another store's.
 */
export function identityOf(session: HttpSession): readonly [user: string, generation: string, nonce: string] {
  const binding = bindingOf(session);
  const nonce = /[,;]n=([^;,]*)[^,]*,$/.exec(binding?.head ?? "")?.[1] ?? "";
  return [binding?.login?.userText ?? "", binding?.login?.generation ?? "", nonce];
}

/** False only if the session is certain to have a record: its store is ours and has read or written it. */
export function mayBeUnstored(session: HttpSession): boolean {
  return bindingOf(session)?.kind !== "loaded";
}

/**
 * True if the request came with this session, rather than got it now. Of another store's sessions that is known by the cookie, whose
 * value holds the session ID.
 */
export function isKnownSession(
  req: IncomingMessage,
  { sid, session }: { readonly sid: string; readonly session: HttpSession },
): boolean {
  if (bindingOf(session) !== undefined) return !mayBeUnstored(session);
  return (req.headers.cookie ?? "").includes(encodeURIComponent(sid));
}

/** The names of the application's own data in a session. */
export function dataNames(session: object): string[] {
  return Object.keys(session).filter((name) => name !== "cookie" && name !== TOKEN_SESSION_FIELD);
}

function bindingOf(session: object): StoredIdentity | undefined {
  return (session as { readonly [SESSION_BINDING]?: StoredIdentity })[SESSION_BINDING];
}
