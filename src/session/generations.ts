import { randomInt } from "node:crypto";
import type { RedisConnection } from "../redis/connection.js";
import type { Deadline } from "../redis/deadline.js";
import { isGeneration } from "./record.js";
import { confirmGeneration } from "./scripts/confirm-generation.js";
import { ensureGeneration } from "./scripts/ensure-generation.js";
import { RANDOM_RANGE, type RaiseReply, raiseGeneration } from "./scripts/raise-generation.js";
import { restoreGeneration } from "./scripts/restore-generation.js";

/** The per-user counters `user_login_age:<userId>` that decide whether a login is still good. */
export class Generations {
  readonly #redis: RedisConnection;
  readonly #prefix: string;
  readonly #ttlMs: string;

  constructor(redis: RedisConnection, prefix: string, ttlMs: number) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.#ttlMs = String(ttlMs);
  }

  keyOf(userText: string): string {
    return this.#prefix + userText;
  }

  /** The current generation; `undefined` if the counter is missing or unusable: nobody of that user is logged in. */
  async current(userText: string): Promise<string | undefined> {
    // MGET answers nil where GET would fail with WRONGTYPE: a counter that is no string is simply unusable.
    const [value] = await this.#redis.mget([this.keyOf(userText)]);
    return isGeneration(value) ? value : undefined;
  }

  /** The current generation, seeded if there is none. */
  ensure(userText: string, deadline?: Deadline): Promise<string> {
    return this.#redis.run(ensureGeneration, this.keyOf(userText), [this.#ttlMs], deadline);
  }

  /** True if `generation` is still current; the counter then stays for good. */
  confirm(userText: string, generation: string, deadline?: Deadline): Promise<boolean> {
    return this.#redis.run(confirmGeneration, this.keyOf(userText), [generation], deadline);
  }

  /** Raises a counter that has fallen behind a generation it had; true if it had to. */
  async restore(userText: string, generation: string): Promise<boolean> {
    return (await this.#redis.run(restoreGeneration, this.keyOf(userText), [generation, ""])) === "raised";
  }

  /** Writes the counter anew, on another connection, at no less than `generation`; false if Redis has lost it. */
  async rewrite(userText: string, generation: string, redis: RedisConnection): Promise<boolean> {
    return (await redis.run(restoreGeneration, this.keyOf(userText), [generation, "1"])) !== "unchanged";
  }

  /** Raises the generation; with `from`, only if that is the current one. */
  raise(userText: string, from?: string): Promise<RaiseReply> {
    const random = String(randomInt(RANDOM_RANGE));
    return this.#redis.run(raiseGeneration, this.keyOf(userText), [random, this.#ttlMs, from ?? ""]);
  }
}
