import { RedisError } from "../errors.js";

/** Error replies start with an upper-case word: `ERR`, `NOSCRIPT`, `OOM`, `READONLY`, `WRONGTYPE`, … */
const REPLY_CODE = /^-?([A-Z][A-Z0-9_]*)(?=\s|$)/;

/** What a node of a cluster says when it does not serve a key, and a client when it has followed such answers for too long. */
const NOT_SERVED = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|Too many Cluster redirections)(?=[\s.]|$)/;

/** What a server says that will be able to answer later, or leaves it to another. */
const PASSING = new Set(["MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY"]);

/** True for the one failure after which a script may be sent again: the server said it does not know it. */
export function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("NOSCRIPT");
}

/**
 * Turns whatever a client threw into a `RedisError`. The client's own error never becomes the cause: ioredis hangs the
 * whole command on it, session keys and payloads included, and some replies quote arguments.
 */
export function toRedisError(error: unknown): RedisError {
  if (error instanceof RedisError) return error;
  const message = error instanceof Error ? error.message : "";
  if (NOT_SERVED.test(message)) return notServedError(message);
  const code = REPLY_CODE.exec(message)?.[1];
  if (code !== undefined) {
    return new RedisError(
      "ERR_REDIS_REPLY",
      "refused",
      `Redis refused a command with ${code}; see docs/errors.md`,
      new Error(withoutArguments(message)),
    );
  }
  return new RedisError(
    "ERR_REDIS_UNAVAILABLE",
    "unknown",
    "The connection to Redis broke before the reply; the command may have taken effect",
    new Error(connectionMessage(error)),
  );
}

/** The client may have lost a connection, and an answer with it, before it was told so: who knows. */
function notServedError(message: string): RedisError {
  return new RedisError(
    "ERR_REDIS_UNAVAILABLE",
    "unknown",
    "No node of the Redis cluster serves this key at the moment; the command may have taken effect",
    new Error(withoutArguments(message).slice(0, 120)),
  );
}

/** True if the same command can succeed soon: another node has the key, or none has at the moment, or the node is away. */
export function isPassing(error: unknown): boolean {
  if (error instanceof RedisError) return false;
  const code = REPLY_CODE.exec(error instanceof Error ? error.message : "")?.[1];
  return code === undefined || PASSING.has(code);
}

/** True if a node says which other node has the key. */
export function isRedirection(error: unknown): boolean {
  return error instanceof Error && /^(MOVED|ASK) /.test(error.message);
}

/** True if nobody knows whether the command had its effect. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof RedisError && error.outcome === "unknown";
}

/** An answer that is not of the shape the command must have: a foreign proxy, a broken client. Fail closed. */
export function malformedReply(command: string): RedisError {
  return new RedisError("ERR_REDIS_REPLY", "unknown", `Redis answered ${command} with an unexpected reply`);
}

/** True if the server says that it is no primary (any more): what it holds may be old. */
export function isFromReplica(error: unknown): boolean {
  return error instanceof Error && /^(READONLY|MASTERDOWN)\b/.test(error.message);
}

/** The server is a replica. */
export function replicaError(): RedisError {
  return toRedisError(new Error("READONLY The connection leads to a replica"));
}

function withoutArguments(message: string): string {
  const denied = /^NOPERM .* run the '([a-z|]+)' command/.exec(message)?.[1];
  if (denied !== undefined) return `NOPERM The user may not run ${denied.toUpperCase()}`;
  // "ERR unknown command 'x', with args beginning with: …" and script errors quote what was sent.
  return message.replace(/,? with args beginning with.*$/s, "").replace(/['"`].*$/s, "…");
}

function connectionMessage(error: unknown): string {
  if (!(error instanceof Error)) return "the client rejected with something that is no Error";
  const code = (error as NodeJS.ErrnoException).code;
  if (code !== undefined) return String(code);
  return error.message.slice(0, 120);
}
