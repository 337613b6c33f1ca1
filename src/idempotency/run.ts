import { IdempotencyError } from "../errors.js";
import type { Claim, ClaimStore } from "./claim-store.js";

/** `req.idempotency` in a handler that runs: its hold on the key. */
export interface IdempotencyControl {
  /** Which run under this key it is, from 1: more if earlier ones died before they committed. */
  readonly attempt: number;
  /** Aborted once the key is no longer this run's, or soon will not be: it took longer than `maxRunMs`, or Redis could not be told in time that it lives. */
  readonly signal: AbortSignal;
  /**
   * The point of no return, written to Redis before it resolves: call it right before the effect. After it, a run that dies is
   * never run again: whoever repeats the request is told `outcome_unknown`. Its answer is kept whatever its status.
   *
   * Errors: `IdempotencyError` `ERR_LEASE_LOST` (409) when another request has taken over; `RedisError` (503). In both cases
   * do not do the effect.
   */
  commit(): Promise<void>;
}

/** Longest wait between two signs of life. */
const MAX_BEAT_MS = 10_000;

/** A run: keeps its lease while the handler works, and ends it with an answer or without. */
export class Run implements IdempotencyControl {
  readonly attempt: number;
  readonly #claim: Claim;
  readonly #store: ClaimStore;
  readonly #abort = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #leaseMs: number;
  readonly #endsAtMs: number;
  #aliveAtMs: number;
  #isCommitted = false;
  #hasEnded = false;

  constructor(parts: {
    readonly store: ClaimStore;
    readonly claim: Claim;
    readonly attempt: number;
    readonly leaseMs: number;
    readonly maxRunMs: number;
    readonly claimedAtMs: number;
  }) {
    this.attempt = parts.attempt;
    this.#claim = parts.claim;
    this.#store = parts.store;
    this.#leaseMs = parts.leaseMs;
    this.#aliveAtMs = parts.claimedAtMs;
    this.#endsAtMs = parts.claimedAtMs + parts.maxRunMs;
    this.#timer = setInterval(() => this.#beat(), Math.min(Math.ceil(parts.leaseMs / 3), MAX_BEAT_MS));
    this.#timer.unref();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get isCommitted(): boolean {
    return this.#isCommitted;
  }

  async commit(): Promise<void> {
    if (!(await this.#store.commit(this.#claim))) {
      this.#lose();
      throw new IdempotencyError(
        "ERR_LEASE_LOST",
        "Another request has taken over this idempotency key, so this run must not do its work; it was too slow or held up",
      );
    }
    this.#isCommitted = true;
  }

  /** Stores the answer. If Redis is away, it is tried again in the background: the client gets its answer all the same. */
  async complete(response: string): Promise<void> {
    this.#end();
    await this.#store.complete(this.#claim, response);
  }

  /** Nothing was done: the next request with the key runs. If Redis is away, once it is back. */
  async release(): Promise<void> {
    this.#end();
    await this.#store.release(this.#claim);
  }

  /** No more signs of life: the lease runs out by itself. */
  stop(): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    if (performance.now() > this.#endsAtMs) {
      this.#lose();
      return;
    }
    const askedAtMs = performance.now();
    this.#store.renew(this.#claim).then(
      (isOwn) => {
        if (isOwn) this.#aliveAtMs = askedAtMs;
        else this.#lose();
      },
      () => {
        if (performance.now() - this.#aliveAtMs > this.#leaseMs) this.#signalLoss();
      },
    );
  }

  #end(): void {
    this.#hasEnded = true;
    this.stop();
  }

  #lose(): void {
    this.stop();
    this.#signalLoss();
  }

  /** Not to a handler that has answered: a sign of life may be overtaken by its answer, and then nothing is lost. */
  #signalLoss(): void {
    if (!this.#hasEnded) this.#abort.abort();
  }
}
