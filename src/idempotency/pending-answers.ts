import type { RedisConnection } from "../redis/connection.js";
import type { Claim, ClaimStore } from "./claim-store.js";

const RETRY_MS = 1_000;
/** How long an answer is kept for Redis to come back. */
const MAX_AGE_MS = 10 * 60_000;
/** How much of this process' memory they may take. */
const MAX_CHARACTERS = 16 * 1_048_576;

interface Pending {
  readonly claim: Claim;
  readonly response: string;
  readonly sinceMs: number;
}

/**
 * Answers that have gone out while Redis could not be told. As long as their run is not taken over they can still be stored, and a
 * retry then gets the first answer.
 */
export class PendingAnswers {
  readonly #store: ClaimStore;
  readonly #redis: Pick<RedisConnection, "onReady">;
  readonly #pending = new Set<Pending>();
  #characters = 0;
  #stopRetrying: (() => void) | undefined;
  #isRetrying = false;

  constructor(store: ClaimStore, redis: Pick<RedisConnection, "onReady">) {
    this.#store = store;
    this.#redis = redis;
  }

  add(claim: Claim, response: string): void {
    if (this.#characters + response.length > MAX_CHARACTERS) return;
    this.#pending.add({ claim, response, sinceMs: performance.now() });
    this.#characters += response.length;
    this.#stopRetrying ??= this.#startRetrying();
  }

  /** Also at the very moment the client is connected anew: before a retry of the request takes the key over. */
  #startRetrying(): () => void {
    const retry = (): void => void this.#retry();
    const stopListening = this.#redis.onReady(retry);
    const timer = setInterval(retry, RETRY_MS);
    timer.unref();
    return () => {
      stopListening();
      clearInterval(timer);
    };
  }

  async #retry(): Promise<void> {
    if (this.#isRetrying) return;
    this.#isRetrying = true;
    await Promise.all([...this.#pending].map((pending) => this.#try(pending)));
    this.#isRetrying = false;
    if (this.#pending.size > 0) return;
    this.#stopRetrying?.();
    this.#stopRetrying = undefined;
  }

  async #try(pending: Pending): Promise<void> {
    try {
      await this.#store.complete(pending.claim, pending.response);
      this.#drop(pending);
    } catch {
      if (performance.now() - pending.sinceMs > MAX_AGE_MS) this.#drop(pending);
    }
  }

  #drop(pending: Pending): void {
    if (this.#pending.delete(pending)) this.#characters -= pending.response.length;
  }
}
