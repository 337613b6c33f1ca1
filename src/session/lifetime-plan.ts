import { dataNames, TOKEN_SESSION_FIELD } from "../http/session-identity.js";
import type { CookieLifetime, LifetimePolicy } from "./lifetime.js";
import { lifetimeMs, MAX_LIFETIME_MS, touchSlackMs } from "./lifetime.js";
import type { StoredLogin } from "./record.js";

/** Clocks of the application and of Redis may differ by this much before an absolute end is enforced late. */
const CLOCK_MARGIN_MS = 60_000;

/** What of session data says how long it lives. */
export interface SessionLifetime {
  readonly cookie?: CookieLifetime | null | undefined;
  readonly [TOKEN_SESSION_FIELD]?: unknown;
}

/** From what a cookie says to what is written: slack for left-out touches, and the absolute end of a login. */
export class LifetimePlan {
  readonly #policy: LifetimePolicy;
  readonly #absoluteTtlMs: number | undefined;

  constructor(policy: LifetimePolicy, absoluteTtlMs: number | undefined) {
    this.#policy = policy;
    this.#absoluteTtlMs = absoluteTtlMs;
  }

  ofCookie(cookie: CookieLifetime | null | undefined): number {
    return lifetimeMs(cookie ?? {}, this.#policy);
  }

  /** Of a whole session: one that was stored for a submit token alone lives as long as the token. */
  ofSession(data: SessionLifetime, isLoggedIn: boolean): number {
    const lifetime = this.ofCookie(data.cookie);
    const forTokenMs = data[TOKEN_SESSION_FIELD];
    if (typeof forTokenMs !== "number" || isLoggedIn || dataNames(data).length > 0) return lifetime;
    return Math.min(lifetime, Math.max(1, Math.ceil(forTokenMs)));
  }

  /** As an argument for scripts: `""` for none. */
  get absoluteTtlMs(): string {
    return String(this.#absoluteTtlMs ?? "");
  }

  slackMs(lifetime: number): number {
    return touchSlackMs(lifetime, this.#policy);
  }

  #withSlack(lifetime: number): number {
    return Math.min(lifetime + this.slackMs(lifetime), MAX_LIFETIME_MS);
  }

  /** The TTL of a record that is written whole. */
  ttlMs(lifetime: number, login: StoredLogin | undefined): number {
    const ttl = this.#withSlack(lifetime);
    if (login === undefined || this.#absoluteTtlMs === undefined) return ttl;
    const left = login.at === undefined ? this.#absoluteTtlMs : login.at + this.#absoluteTtlMs - Date.now();
    return Math.max(1, Math.min(ttl, left));
  }

  /** Arguments for `update-record`: a login of unknown time cannot be bounded, so under an absolute end it keeps its TTL. */
  update(lifetime: number, login: StoredLogin | undefined, isNewLogin: boolean): { ttlMs: string; notAfterMs: string } {
    const ttlMs = this.#withSlack(lifetime);
    if (lifetime === 0 || login === undefined || this.#absoluteTtlMs === undefined) {
      return { ttlMs: String(ttlMs), notAfterMs: "" };
    }
    if (isNewLogin) return { ttlMs: String(Math.min(ttlMs, this.#absoluteTtlMs)), notAfterMs: "" };
    if (login.at === undefined) return { ttlMs: "", notAfterMs: "" };
    return { ttlMs: String(ttlMs), notAfterMs: String(login.at + this.#absoluteTtlMs) };
  }

  /** The TTL of a record whose cookie alone is replaced; `""` keeps what it has, under an absolute end of an unknown time. */
  replacementTtlMs(lifetime: number, login: StoredLogin | undefined): string {
    const isUnbounded = login !== undefined && login.at === undefined && this.#absoluteTtlMs !== undefined;
    return isUnbounded ? "" : String(this.ttlMs(lifetime, login));
  }

  /** What a touch asks for; `undefined` when the life may not be extended. */
  extension(lifetime: number, login: StoredLogin | undefined): { ttlMs: number; notAfterMs?: number } | undefined {
    const ttlMs = this.#withSlack(lifetime);
    if (login === undefined || this.#absoluteTtlMs === undefined) return { ttlMs };
    if (login.at === undefined) return undefined;
    const notAfterMs = login.at + this.#absoluteTtlMs;
    return Date.now() + ttlMs + CLOCK_MARGIN_MS < notAfterMs ? { ttlMs } : { ttlMs, notAfterMs };
  }

  /** True once a login has reached its absolute end, by this process' clock; Redis' TTL enforces it by its own. */
  isOver(login: StoredLogin | undefined): boolean {
    return this.#absoluteTtlMs !== undefined && login?.at !== undefined && login.at + this.#absoluteTtlMs <= Date.now();
  }
}
