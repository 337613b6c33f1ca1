import type { RedisConnection } from "../redis/connection.js";
import type { Deadline } from "../redis/deadline.js";
import type { LifetimePlan } from "./lifetime-plan.js";
import type { RecentSessions } from "./recent-sessions.js";
import { replaceCookie } from "./scripts/replace-cookie.js";
import type { SessionBinding } from "./session-binding.js";
import { cookieChange, cookieEnd } from "./stored-cookie.js";

/** Tries to place a changed cookie before giving up to other requests that change it as well. */
const MAX_TRIES = 3;

export interface CookieReplacerParts {
  readonly redis: RedisConnection;
  readonly recent: RecentSessions;
  readonly lifetimes: LifetimePlan;
  readonly sessionPrefix: string;
}

/** Stores a changed cookie ("remember me") and leaves the data beside it as other requests may have saved it since. */
export class CookieReplacer {
  readonly #parts: CookieReplacerParts;

  constructor(parts: CookieReplacerParts) {
    this.#parts = parts;
  }

  async replace(
    sid: string,
    binding: SessionBinding,
    snapshot: { readonly payload: string; readonly lifetimeMs: number },
    deadline: Deadline,
  ): Promise<"written" | "fenced"> {
    const { redis, recent, sessionPrefix, lifetimes } = this.#parts;
    const ttlMs = lifetimes.replacementTtlMs(snapshot.lifetimeMs, binding.login);
    const prefix = snapshot.payload.slice(0, cookieEnd(snapshot.payload));
    let stored = binding.payload ?? "";
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const change = cookieChange(stored, prefix);
      if (change === undefined) return "fenced";
      const sentAtMs = performance.now();
      const args = [binding.head, change.from, change.to, ttlMs];
      const reply = await redis.run(replaceCookie, sessionPrefix + sid, args, deadline);
      if (reply.kind === "differs") {
        stored = reply.payload;
        continue;
      }
      if (reply.kind === "fenced") return "fenced";
      binding.payload = snapshot.payload;
      recent.rememberExtension(sid, sentAtMs, snapshot.lifetimeMs);
      return "written";
    }
    return "fenced";
  }
}
