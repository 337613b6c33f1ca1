/** How long a record lives in Redis, from the session's cookie. All in milliseconds, written with `PX`. */

/** Longest life a record gets, ten years: beyond it a number is a mistake, and Redis refuses absurd ones. */
export const MAX_LIFETIME_MS: number = 10 * 365.25 * 24 * 60 * 60 * 1000;

/** What of a cookie says how long the session lives. */
export interface CookieLifetime {
  readonly expires?: unknown;
  readonly originalMaxAge?: unknown;
  readonly maxAge?: unknown;
}

export interface LifetimePolicy {
  /** For cookies without an age (gone with the browser) or with one that is no number. */
  readonly ttlMs: number;
  /** How long a touch may be left out after the last one; every lifetime written gets that much slack. */
  readonly touchIntervalMs: number;
}

/**
 * The time left of a session, rounded up; 0 when it is over. Invalid ages (NaN, an invalid Date) count as none.
 */
export function lifetimeMs(cookie: CookieLifetime, policy: LifetimePolicy, nowMs: number = Date.now()): number {
  const left = timeLeft(cookie, nowMs);
  if (Number.isNaN(left)) return Math.ceil(policy.ttlMs);
  if (left <= 0) return 0;
  return Math.min(Math.ceil(left), MAX_LIFETIME_MS);
}

/** True if a cookie says how long its session lives. */
export function hasLifetime(cookie: unknown): boolean {
  return typeof cookie === "object" && cookie !== null && !Number.isNaN(timeLeft(cookie, 0));
}

/**
 * How long after a touch the next may be left out: `touchIntervalMs`, but at most a tenth of the lifetime, so that short
 * sessions do not live noticeably longer than asked for.
 */
export function touchSlackMs(lifetime: number, policy: LifetimePolicy): number {
  return Math.min(policy.touchIntervalMs, Math.floor(lifetime / 10));
}

function timeLeft({ expires, originalMaxAge, maxAge }: CookieLifetime, nowMs: number): number {
  const endMs =
    expires instanceof Date ? expires.getTime() : typeof expires === "string" ? Date.parse(expires) : Number.NaN;
  if (!Number.isNaN(endMs)) return endMs - nowMs;
  const age = originalMaxAge ?? maxAge;
  return typeof age === "number" ? age : Number.NaN;
}
