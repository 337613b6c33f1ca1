interface Expiry {
  readonly atMs: number;
  readonly expire: () => void;
  previous: Expiry | undefined;
  next: Expiry | undefined;
}

const OVERDUE_MS = 1_000;

/**
 * What is to happen at some time unless it is called off first, as nearly all of it is. One timer serves all of it: a timer of
 * its own for each command would cost as much as a good part of the command. It keeps no process alive: what waits for Redis has a
 * socket or a reconnect that does.
 */
export class Expiries {
  #first: Expiry | undefined;
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  /** Calls `expire` at this time of the monotonic clock, which is at most `withinMs` away; answers what calls it off. */
  add(atMs: number, withinMs: number, expire: () => void): Expiry {
    const expiry: Expiry = { atMs, expire, previous: undefined, next: this.#first };
    if (this.#first !== undefined) this.#first.previous = expiry;
    this.#first = expiry;
    // A timer that is long overdue will not come any more: a test has replaced the clock under it.
    if (atMs < this.#timerAtMs || this.#timerAtMs < atMs - withinMs - OVERDUE_MS) this.#arm(atMs);
    return expiry;
  }

  /** Once at most for each. */
  remove({ previous, next }: Expiry): void {
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next !== undefined) next.previous = previous;
  }

  #arm(atMs: number): void {
    clearTimeout(this.#timer);
    this.#timerAtMs = atMs;
    this.#timer = setTimeout(this.#check, Math.max(0, Math.ceil(atMs - performance.now())));
    this.#timer.unref();
  }

  readonly #check = (): void => {
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    const nowMs = performance.now();
    let nextMs = Number.POSITIVE_INFINITY;
    for (let expiry = this.#first; expiry !== undefined; expiry = expiry.next) {
      if (expiry.atMs <= nowMs) {
        this.remove(expiry);
        expiry.expire();
      } else nextMs = Math.min(nextMs, expiry.atMs);
    }
    if (nextMs < this.#timerAtMs) this.#arm(nextMs);
  };
}
