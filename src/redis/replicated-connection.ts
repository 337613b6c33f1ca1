import { RedisError } from "../errors.js";
import type { RedisClient } from "./client.js";
import { RedisConnection } from "./connection.js";

interface DuplicableClient extends RedisClient {
  duplicate(override?: object): RedisClient;
}

/**
 * A connection of its own for writes that must reach replicas. WAIT holds up everything behind it on its connection, so
 * on the shared one it would stall every page; and it counts the writes of its own connection only, so the write is made
 * here as well. Opened on first use.
 */
export class ReplicatedConnection {
  readonly #client: RedisClient;
  readonly #timeoutMs: number;
  #own: { readonly client: RedisClient; readonly redis: RedisConnection } | undefined;

  constructor(client: RedisClient, timeoutMs: number) {
    this.#client = client;
    this.#timeoutMs = timeoutMs;
  }

  /** Runs a write and waits for up to `timeoutMs` until `replicas` replicas have it; says how many have. */
  async run<T>(
    write: (redis: RedisConnection) => Promise<T>,
    replicas: number,
    timeoutMs: number,
  ): Promise<{ readonly result: T; readonly acknowledged: number }> {
    const { redis } = this.#open();
    const result = await write(redis);
    return { result, acknowledged: await redis.waitForReplicas(replicas, timeoutMs) };
  }

  close(): void {
    this.#own?.client.disconnect();
    this.#own = undefined;
  }

  #open(): { readonly client: RedisClient; readonly redis: RedisConnection } {
    if (this.#own !== undefined) return this.#own;
    if (!("duplicate" in this.#client) || typeof this.#client.duplicate !== "function") {
      throw new RedisError(
        "ERR_REDIS_UNAVAILABLE",
        "not-sent",
        "This client cannot open a connection to wait for replicas",
      );
    }
    // Resent after a lost reply, a write could be followed by a WAIT that counts nothing.
    const overrides = { autoResendUnfulfilledCommands: false, lazyConnect: true };
    const client = (this.#client as DuplicableClient).duplicate(overrides);
    // Each failure reaches the caller as a deadline; without a listener ioredis would print it too.
    client.on("error", () => undefined);
    this.#own = { client, redis: new RedisConnection(client, this.#timeoutMs) };
    return this.#own;
  }
}
