import type { LifeExtension, RedisConnection } from "../redis/connection.js";

/** Extensions per pipeline. */
const MAX_BATCH = 500;

interface PendingTouch extends LifeExtension {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Extends the lives of sessions; all touches up to the next `setImmediate` share one round trip. */
export class SessionToucher {
  readonly #redis: RedisConnection;
  #pending: PendingTouch[] = [];

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  extend(extension: LifeExtension): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      if (this.#pending.length === 0) setImmediate(this.#flush);
      this.#pending.push({ ...extension, resolve, reject });
    });
  }

  readonly #flush = (): void => {
    const all = this.#pending;
    this.#pending = [];
    for (let start = 0; start < all.length; start += MAX_BATCH) {
      const batch = all.slice(start, start + MAX_BATCH);
      this.#redis.extend(batch).then(
        () => {
          for (const touch of batch) touch.resolve();
        },
        (error: unknown) => {
          for (const touch of batch) touch.reject(error);
        },
      );
    }
  };
}
