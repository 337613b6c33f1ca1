import type { RedisClient } from "./client.js";

/** What is needed of a client to put several commands into one write. */
type WritingClient = Pick<RedisClient, "stream">;

/**
 * Says when what was gathered for one server is sent. For a lone caller, with nothing on its way and nobody beside it last time, a
 * moment ends with the current step of the event loop (`process.nextTick`). Under traffic it lasts until the next `setImmediate`:
 * each request comes in a step of its own.
 *
 * All that is sent in one moment, of whatever kind, goes out in one write: a system call costs more than the commands in it.
 */
export class Moment {
  readonly #client: WritingClient;
  #flushes: (() => void)[] = [];
  #onTheWay = 0;
  #lastItems = 0;

  constructor(client: WritingClient) {
    this.#client = client;
  }

  /** Calls `flush` when the moment is over. */
  atEnd(flush: () => void): void {
    if (this.#flushes.push(flush) > 1) return;
    if (this.#onTheWay === 0 && this.#lastItems <= 1) process.nextTick(this.#end);
    else setImmediate(this.#end);
  }

  /** So many things were sent together; `settled` follows, whatever becomes of them. */
  sent(items: number): void {
    this.#onTheWay += 1;
    this.#lastItems += items;
  }

  settled(): void {
    this.#onTheWay -= 1;
  }

  /** What `send` sends before it returns goes out in one write. */
  inOneWrite<T>(send: () => T): T {
    // The same one at both ends: the connection may be found gone in between.
    const { stream } = this.#client;
    stream?.cork?.();
    try {
      return send();
    } finally {
      stream?.uncork?.();
    }
  }

  readonly #end = (): void => {
    const flushes = this.#flushes;
    this.#flushes = [];
    this.#lastItems = 0;
    const [first] = flushes;
    if (flushes.length === 1) first?.();
    else
      this.inOneWrite(() => {
        for (const flush of flushes) flush();
      });
  };
}
