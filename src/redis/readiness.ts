import type { RedisClient } from "./client.js";
import type { Deadline } from "./deadline.js";

interface Waiter {
  readonly ready: () => void;
  readonly ended: () => void;
}

/**
 * Waits for the client to become ready instead of filling its offline queue: what never entered a queue cannot be sent
 * long after its request has failed.
 */
export class Readiness {
  readonly #client: RedisClient;
  readonly #waiters = new Set<Waiter>();
  #listening = false;

  constructor(client: RedisClient) {
    this.#client = client;
  }

  get isReady(): boolean {
    const status = this.#client.status;
    return status === undefined || status === "ready";
  }

  /** Resolves once the client is ready; rejects with `ERR_REDIS_UNAVAILABLE` at the deadline or when it has ended. */
  wait(deadline: Deadline): Promise<void> {
    if (this.isReady) return Promise.resolve();
    if (this.#client.status === "end") return Promise.reject(deadline.unavailableError());
    if (this.#client.status === "wait") this.#connectLazily();
    return new Promise<void>((resolve, reject) => {
      const fail = (): void => settle(() => reject(deadline.unavailableError()));
      const timer = setTimeout(fail, deadline.remainingMs);
      const settle = (finish: () => void): void => {
        clearTimeout(timer);
        this.#waiters.delete(waiter);
        if (this.#waiters.size === 0) this.#stopListening();
        finish();
      };
      const waiter: Waiter = { ready: () => settle(resolve), ended: fail };
      this.#waiters.add(waiter);
      this.#startListening();
    });
  }

  #connectLazily(): void {
    // The error, if any, reaches the client's own listeners and, as a deadline, our waiters.
    this.#client.connect?.().catch(() => undefined);
  }

  readonly #onReady = (): void => {
    for (const waiter of [...this.#waiters]) waiter.ready();
  };

  /** The client was closed, or its `retryStrategy` gave up: it does not connect again by itself. */
  readonly #onEnd = (): void => {
    for (const waiter of [...this.#waiters]) waiter.ended();
  };

  #startListening(): void {
    if (this.#listening) return;
    this.#listening = true;
    this.#client.on("ready", this.#onReady);
    this.#client.on("end", this.#onEnd);
  }

  #stopListening(): void {
    this.#listening = false;
    this.#client.removeListener("ready", this.#onReady);
    this.#client.removeListener("end", this.#onEnd);
  }
}
