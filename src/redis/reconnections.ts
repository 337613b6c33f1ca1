import type { RedisClient } from "./client.js";

/** One wait for a new connection. */
export interface NextConnection {
  /** Resolves once the client has connected anew. */
  readonly isThere: Promise<void>;
  /** Ends the wait; `isThere` then never resolves. */
  readonly stop: () => void;
}

/** Tells when the client has connected anew, to any number of waits with one listener on the client. */
export class Reconnections {
  readonly #client: RedisClient;
  readonly #waits = new Set<() => void>();

  constructor(client: RedisClient) {
    this.#client = client;
  }

  next(): NextConnection {
    let resolve: () => void = () => undefined;
    const isThere = new Promise<void>((resolveIt) => {
      resolve = resolveIt;
    });
    if (this.#waits.size === 0) this.#client.on("ready", this.#onReady);
    this.#waits.add(resolve);
    const stop = (): void => {
      if (this.#waits.delete(resolve) && this.#waits.size === 0) this.#client.removeListener("ready", this.#onReady);
    };
    return { isThere, stop };
  }

  readonly #onReady = (): void => {
    for (const resolve of this.#waits) resolve();
  };
}
