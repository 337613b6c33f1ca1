import type { LifeExtension, RedisConnection } from "../redis/connection.js";
import { Gathering } from "./gathering.js";

/** Extensions per pipeline. */
const MAX_BATCH = 500;

/** Extends the lives of sessions; all touches of a moment share one round trip. */
export class SessionToucher {
  readonly #gathering: Gathering<LifeExtension>;

  constructor(redis: RedisConnection) {
    this.#gathering = new Gathering(MAX_BATCH, (batch) => redis.extend(batch));
  }

  /** A failure fails all touches of the batch. */
  extend(extension: LifeExtension): Promise<void> {
    return this.#gathering.add(extension);
  }
}
