import { RedisError } from "../errors.js";

/** Error replies start with an upper-case word: `ERR`, `NOSCRIPT`, `OOM`, `READONLY`, `WRONGTYPE`, … */
const REPLY_CODE = /^-?([A-Z][A-Z0-9_]*)(?=\s|$)/;

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
