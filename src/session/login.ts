import type { StoredLogin } from "./record.js";
import { bindingOf } from "./session-binding.js";

/** A login as its session carries it. */
export interface Login {
  /** The user's ID, as decimal text for numeric IDs. */
  readonly userId: string;
  /** The generation the login was stamped with, decimal text. */
  readonly generation: string;
  /** When the login was made: epoch milliseconds on Redis' clock. Absent in a record another service wrote bare. */
  readonly at?: number;
}

/**
 * The login of a request or a session, as it was when the session was read; `undefined` when nobody is logged in. Costs
 * nothing: the check was made by the read. For work that must not outlive a logout, ask `store.isCurrent(req)` again.
 *
 * @example
 * ```ts
 * app.get("/me", (req, res) => {
 *   const login = loginOf(req);
 *   res.send(login ? `You are ${login.userId}` : "Please sign in");
 * });
 * ```
 */
export function loginOf(requestOrSession: object | null | undefined): Login | undefined {
  if (typeof requestOrSession !== "object" || requestOrSession === null) return undefined;
  const own = bindingOf(requestOrSession);
  if (own !== undefined) return publicLogin(own.login);
  const { session } = requestOrSession as { readonly session?: unknown };
  return typeof session === "object" && session !== null ? publicLogin(bindingOf(session)?.login) : undefined;
}

function publicLogin(login: StoredLogin | undefined): Login | undefined {
  if (login === undefined) return undefined;
  const { userId, generation, at } = login;
  return at === undefined ? { userId, generation } : { userId, generation, at };
}
