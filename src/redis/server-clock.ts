import type { RedisClient } from "./client.js";
import type { Deadline } from "./deadline.js";
import { malformedReply } from "./failure.js";

/** After this long the clocks may have drifted apart by a noticeable part of a deadline. */
const RELEARN_AFTER_MS = 60_000;

/**
 * Redis' clock as seen from this process, so that a script can be told until when it may still take effect. Never too
 * early: what is known is an upper bound, off by no more than the round trip it was learned in.
 */
export class ServerClock {
  #learned: { readonly serverMs: number; readonly sentAtMs: number } | undefined;
  #checkedAtMs = 0;

  /** The deadline in epoch milliseconds of Redis' clock; `undefined` before `learn`. */
  at(deadline: Deadline): number | undefined {
    if (this.#learned === undefined) return undefined;
    return Math.ceil(this.#learned.serverMs + deadline.endsAtMs - this.#learned.sentAtMs);
  }

  /** True once after each interval: the caller then learns the clock again, beside its other work. */
  isDue(): boolean {
    const nowMs = performance.now();
    if (this.#learned === undefined || nowMs - this.#checkedAtMs <= RELEARN_AFTER_MS) return false;
    this.#checkedAtMs = nowMs;
    return true;
  }

  /** Notes what Redis' clock said in answer to something sent at `sentAtMs` of this process' monotonic clock. */
  note(serverMs: number, sentAtMs: number): void {
    this.#learned = { serverMs, sentAtMs };
    this.#checkedAtMs = sentAtMs;
  }

  /** Asks Redis; an answer that comes after the deadline, sent again by the driver, says nothing about when it was asked. */
  async learn(client: RedisClient, deadline: Deadline): Promise<void> {
    const sentAtMs = performance.now();
    const [seconds, microseconds] = await client.time();
    const serverMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
    if (Number.isNaN(serverMs)) throw malformedReply("TIME");
    if (deadline.remainingMs > 0) this.note(serverMs, sentAtMs);
  }
}
