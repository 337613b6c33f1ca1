import type { RedisConnection } from "../redis/connection.js";
import type { Deadline } from "../redis/deadline.js";
import type { CookieLifetime } from "./lifetime.js";
import type { LifetimePlan } from "./lifetime-plan.js";
import { newNonce } from "./nonce.js";
import { parsePayload } from "./payload.js";
import type { RecentSessions } from "./recent-sessions.js";
import { anonymousHead, parseRecord } from "./record.js";
import { overwritePayload } from "./scripts/overwrite-payload.js";
import { foreignBinding, type SessionBinding } from "./session-binding.js";

/**
 * Calls of the store by hand, with data that no read of ours returned: scripts, tests, other session libraries. They may
 * change what is stored, but whose session it is stays as it was.
 */
export interface ForeignDataParts {
  readonly redis: RedisConnection;
  readonly recent: RecentSessions;
  readonly lifetimes: LifetimePlan;
  readonly sessionPrefix: string;
}

/** Replaces the data of a record in place, or makes an anonymous one; removes it when its cookie's time is over. */
export async function overwriteStored(
  { redis, recent, lifetimes, sessionPrefix }: ForeignDataParts,
  sid: string,
  { payload, lifetimeMs }: { readonly payload: string; readonly lifetimeMs: number },
  deadline: Deadline,
): Promise<"written" | "removed"> {
  const key = sessionPrefix + sid;
  if (lifetimeMs === 0) {
    await redis.delete(key, deadline);
    return "removed";
  }
  const sentAtMs = performance.now();
  const ttlMs = String(lifetimes.ttlMs(lifetimeMs, undefined));
  const args = [payload, ttlMs, anonymousHead(newNonce()).before, lifetimes.absoluteTtlMs];
  const outcome = await redis.run(overwritePayload, key, args, deadline);
  recent.rememberExtension(sid, sentAtMs, lifetimeMs);
  return outcome;
}

/** What is stored under a session ID. */
export interface StoredSession {
  /** As if it had just been loaded. */
  readonly binding: SessionBinding;
  /** The cookie in it; none in a bare record. */
  readonly cookie: CookieLifetime | undefined;
}

/** What is stored under a session ID; `undefined` if that is no session, or one whose time is over. */
export async function storedSession(
  { redis, lifetimes, sessionPrefix }: ForeignDataParts,
  sid: string,
): Promise<StoredSession | undefined> {
  const [text] = await redis.mget([sessionPrefix + sid]);
  const record = typeof text === "string" ? parseRecord(text) : undefined;
  if (record === undefined || lifetimes.isOver(record.login)) return undefined;
  const { head, login, payload } = record;
  const data = payload === undefined ? undefined : parsePayload(payload);
  if (typeof data === "string") return undefined;
  const binding: SessionBinding = {
    ...foreignBinding(),
    kind: "loaded",
    head,
    bare: payload === undefined,
    login,
    payload,
  };
  return { binding, cookie: data?.cookie };
}
