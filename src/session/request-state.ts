import { inOrder } from "./in-order.js";
import type { StoredLogin } from "./record.js";

/** Why a request that sent a session cookie has no session of that ID. */
export type SignedOutReason =
  /** The user was logged out everywhere (or the login replaced) since. */
  | "logged_out"
  /** The session is not in the store: expired, destroyed on this device, or never there. */
  | "not_found";

/** What the store remembers of a request, beside its session. */
export interface RequestState {
  /**
   * The logins the request holds, by user text: the one it arrived with and those it made since. They may be inherited, never
   * renewed. `"ended"`: its session was found ended (logged out, exchanged by another request), so not even that.
   */
  readonly held: Map<string, StoredLogin | "ended">;
  /** Login attempts begun in this request, by user text: generation each. */
  readonly attempts: Map<string, string>;
  signedOut: SignedOutReason | undefined;
  /** Ends when all changes of the request's session ID so far have. */
  tail: Promise<unknown>;
}

const REQUEST_STATE = Symbol.for("logout-everywhere.request");

/** The state of a request, made on first use. */
export function requestState(req: object): RequestState {
  const known = peekRequestState(req);
  if (known !== undefined) return known;
  const state: RequestState = {
    held: new Map(),
    attempts: new Map(),
    signedOut: undefined,
    tail: Promise.resolve(),
  };
  Object.defineProperty(req, REQUEST_STATE, { value: state });
  return state;
}

export function peekRequestState(req: object): RequestState | undefined {
  return (req as { readonly [REQUEST_STATE]?: RequestState })[REQUEST_STATE];
}

/** Runs the changes of a request's session ID one after the other, whatever becomes of each. */
export function inTurn<T>(req: object, change: () => Promise<T>): Promise<T> {
  return inOrder(requestState(req), change);
}

/** Notes a login the request has made. */
export function holdLogin(req: object, login: StoredLogin | undefined): void {
  if (login !== undefined) requestState(req).held.set(login.userText, login);
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
