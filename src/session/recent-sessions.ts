import { LRUCache } from "lru-cache";
import { ownCopy } from "./own-copy.js";

/** How many sessions a process remembers something about; the least recently used are forgotten. */
const MAX_SESSIONS = 50_000;

interface RecentSession {
  userText: string | undefined;
  /** Monotonic time of the last write of the record's lifetime, and that lifetime. */
  extendedAtMs: number;
  lifetimeMs: number;
}

/**
 * What this process remembers of the sessions it saw last: the user (a guess at which counter to fetch along with the
 * record) and when it last extended the record's life. Forgetting or misremembering costs a command, never a wrong answer.
 */
export class RecentSessions {
  readonly #sessions = new LRUCache<string, RecentSession>({ max: MAX_SESSIONS });

  userOf(sid: string): string | undefined {
    return this.#sessions.get(sid)?.userText;
  }

  rememberUser(sid: string, userText: string | undefined): void {
    const known = this.#sessions.get(sid);
    const own = userText === undefined ? undefined : ownCopy(userText);
    if (known !== undefined) known.userText = own;
    else if (own !== undefined) {
      this.#sessions.set(ownCopy(sid), { userText: own, extendedAtMs: -Infinity, lifetimeMs: 0 });
    }
  }

  /** Call with the time *before* the command was sent: the record's new life started no earlier. */
  rememberExtension(sid: string, atMs: number, lifetimeMs: number): void {
    const known = this.#sessions.get(sid);
    if (known === undefined) {
      this.#sessions.set(ownCopy(sid), { userText: undefined, extendedAtMs: atMs, lifetimeMs });
    } else if (atMs >= known.extendedAtMs) {
      known.extendedAtMs = atMs;
      known.lifetimeMs = lifetimeMs;
    }
  }

  /** True if this process gave the record at least this lifetime less than `withinMs` ago. */
  wasExtended(sid: string, nowMs: number, lifetimeMs: number, withinMs: number): boolean {
    const known = this.#sessions.get(sid);
    return known !== undefined && lifetimeMs <= known.lifetimeMs && nowMs - known.extendedAtMs < withinMs;
  }

  forget(sid: string): void {
    this.#sessions.delete(sid);
  }
}
