import type { LifeExtension, RedisConnection } from "../redis/connection.js";
import { Gathering } from "../redis/gathering.js";

/** Extensions per pipeline. */
const MAX_BATCH = 500;

/** Extends the lives of sessions; all touches of a moment share one round trip. */
export class SessionToucher {
  readonly #redis: RedisConnection;
  readonly #gathering: Gathering<LifeExtension>;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
    this.#gathering = new Gathering(redis.moment, MAX_BATCH, (batch) => redis.extend(batch));
  }

  /** A failure fails all touches of the batch. */
  extend(extension: LifeExtension): Promise<void> {
    // On a cluster they are gathered per node: one that is away must not fail those of the others.
    if (this.#redis.isClustered) return this.#redis.extend([extension]);
    return this.#gathering.add(extension);
  }
}
