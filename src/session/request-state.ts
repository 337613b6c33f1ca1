import type { StoredLogin } from "./record.js";

/** Why a request that sent a session cookie has no session of that ID. */
export type SignedOutReason =
  /** The user was logged out everywhere (or the login replaced) since. */
  | "logged_out"
  /** The session is not in the store: expired, destroyed on this device, or never there. */
  | "not_found";

/** What the store remembers of a request, beside its session. */
export interface RequestState {
  /** The login the request holds: the one it arrived with, or made since. It may be inherited, never renewed. */
  login: StoredLogin | undefined;
  /** Login attempts begun in this request, by user text: generation each. */
  readonly attempts: Map<string, string>;
  signedOut: SignedOutReason | undefined;
}

const REQUEST_STATE = Symbol.for("logout-everywhere.request");

/** The state of a request, made on first use. */
export function requestState(req: object): RequestState {
  const known = peekRequestState(req);
  if (known !== undefined) return known;
  const state: RequestState = { login: undefined, attempts: new Map(), signedOut: undefined };
  Object.defineProperty(req, REQUEST_STATE, { value: state });
  return state;
}

export function peekRequestState(req: object): RequestState | undefined {
  return (req as { readonly [REQUEST_STATE]?: RequestState })[REQUEST_STATE];
}

/**
 * Why this request is not signed in although it sent a session cookie: `"logged_out"` if its session belonged to a login
 * that a log out everywhere has ended, `"not_found"` if the store has no such session; `undefined` if it sent no
 * (validly signed) session cookie or has its session. Ask in the request itself: an ended session is removed when it is first seen.
 *
 * @example
 * ```ts
 * app.get("/account", (req, res) => {
 *   if (!loginOf(req)) return res.redirect(`/sign-in?why=${signedOutReason(req) ?? ""}`);
 *   res.send("…");
 * });
 * ```
 */
export function signedOutReason(req: object): SignedOutReason | undefined {
  return peekRequestState(req)?.signedOut;
}
