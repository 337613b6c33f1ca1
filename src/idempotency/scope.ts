import type { IncomingMessage } from "node:http";
import { kindOf } from "../check.js";
import { digest } from "../digest.js";
import { hintOnce } from "../http/hints.js";
import { identityOf, isKnownSession, sessionOf } from "../http/session-identity.js";

/** The `scope` option: from a request to whoever its keys belong to. */
export type ScopeOption = (req: never) => string | undefined;

/**
 * Whose key it is: as the application says, else the signed-in user, else the session that the request came with. `undefined` if
 * nobody can be told from anybody else: strangers never share a scope.
 */
export function scopeOf(req: IncomingMessage, option: ScopeOption | undefined): readonly string[] | undefined {
  const stated: unknown = option?.(req as never) ?? "";
  if (typeof stated !== "string") {
    // Never another scope in its place: it would not be the one that was meant.
    hintOnce("Idempotency keys", `the scope option gave ${kindOf(stated)}; expected text or undefined`);
    return undefined;
  }
  if (stated !== "") return ["stated", stated];
  const found = sessionOf(req);
  if (found === undefined) return undefined;
  const [user] = identityOf(found.session);
  if (user !== "") return ["user", user];
  return isKnownSession(req, found) ? ["session", found.sid] : undefined;
}

/** The name of a key's record: it tells nothing of the key and belongs to one scope only. */
export function recordName(scope: readonly string[], key: string): string {
  return digest("idempotency", ...scope, key);
}
