import { LifetimePlan } from "../../src/session/lifetime-plan.js";
import { RecentSessions } from "../../src/session/recent-sessions.js";
import { RetiredSessions } from "../../src/session/retired-sessions.js";
import { newBinding, type SessionBinding } from "../../src/session/session-binding.js";
import { type SessionSnapshot, SessionWriter, type StampSource } from "../../src/session/session-writer.js";
import type { Stamp } from "../../src/session/stamp.js";
import { PlayedConnection } from "./played-connection.js";

/** Long enough that the slack for left-out touches is the touch interval, one second. */
export const LIFETIME_MS = 10_000;

/** A login that was made at a time on Redis' clock, in the future of this process': it is never over. */
export const MIRA = { userId: "mira", userText: "mira", generation: "7", at: 9_700_000_000_000 };

/** A session writer on a Redis that is played. */
export class PlayedWriter {
  readonly redis = new PlayedConnection();
  readonly recent = new RecentSessions();
  readonly retired = new RetiredSessions();
  readonly extended: unknown[] = [];
  readonly confirmed: string[] = [];
  /** Whether the generation of a new login still holds right behind its write. */
  holds = true;
  readonly writer: SessionWriter;

  constructor(absoluteTtlMs?: number) {
    this.writer = new SessionWriter({
      redis: this.redis.asRedis,
      generations: {
        confirm: async (userText: string, generation: string) => {
          this.confirmed.push(`${userText} ${generation}`);
          return this.holds;
        },
      } as never,
      recent: this.recent,
      retired: this.retired,
      toucher: { extend: async (extension: unknown) => this.extended.push(extension) } as never,
      lifetimes: new LifetimePlan({ ttlMs: LIFETIME_MS, touchIntervalMs: 1_000 }, absoluteTtlMs),
      sessionPrefix: "session:",
    });
  }

  /** True if the writer has noted that the record lives this long from now. */
  hasNoted(lifetimeMs = LIFETIME_MS): boolean {
    return this.recent.wasExtended("a", performance.now(), lifetimeMs, 1_000);
  }
}

export function payloadOf(data: object = {}, cookie: object = { path: "/shop" }): string {
  return JSON.stringify({ cookie, ...data });
}

export function snapshot(payload: string = payloadOf(), more: Partial<SessionSnapshot> = {}): SessionSnapshot {
  return { payload, lifetimeMs: LIFETIME_MS, dataUser: undefined, ...more };
}

export function loaded(more: Partial<SessionBinding> = {}): SessionBinding {
  return {
    ...newBinding("a"),
    kind: "loaded",
    head: "mira,7,n=xyz,",
    login: MIRA,
    payload: payloadOf({ cart: 1 }),
    ...more,
  };
}

/** How a new login of bob is stamped. */
export const BOB: Stamp = {
  head: { before: "bob,3,at=", after: ";n=abc," },
  login: { userId: "bob", userText: "bob", generation: "3", at: undefined },
  confirm: true,
};

/** For saves in which nobody new appears. */
export const nobody: StampSource = async () => {
  throw new Error("no user appeared");
};

export const asBob: StampSource = async (userText) => (userText === "bob" ? BOB : "ended");
