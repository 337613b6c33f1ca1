import type { RedisClient } from "./client.js";
import { Deadline } from "./deadline.js";
import { isFromReplica, replicaError, toRedisError } from "./failure.js";

/**
 * Watches that the server is a primary. One that was demoted goes on answering reads, from data that may lack the last logouts: once it
 * is known, nothing it answers is believed until a server says that it is a primary.
 */
export class PrimaryCheck {
  readonly #client: RedisClient;
  readonly #timeoutMs: number;
  #isDemoted = false;
  #probe: Promise<void> | undefined;
  #stopWatching: (() => void) | undefined;

  constructor(client: RedisClient, timeoutMs: number) {
    this.#client = client;
    this.#timeoutMs = timeoutMs;
  }

  /** A server has said that it is a replica. */
  get isDemoted(): boolean {
    return this.#isDemoted;
  }

  /** Notes what a failure says about the server. */
  note(error: unknown): void {
    if (isFromReplica(error)) this.#isDemoted = true;
  }

  /** Resolves if the server is a primary (again). All who wait share one question. */
  async pass(deadline: Deadline): Promise<void> {
    await deadline.limit(this.#ask());
  }

  /**
   * From now on asks the server every so often, and on each new connection, before anything else is sent there. If it cannot
   * be asked, or not in time, it counts as what it was.
   */
  watch(intervalMs: number): void {
    const ask = (): void => {
      this.#ask().catch(() => undefined);
    };
    const onReady = (): void => {
      this.#isDemoted = true;
      ask();
    };
    const askIfReady = (): void => {
      if (this.#client.status === "ready") ask();
    };
    if (this.#client.status === "ready") this.#isDemoted = true;
    this.#client.on("ready", onReady);
    const timer = setInterval(askIfReady, intervalMs);
    timer.unref();
    this.#stopWatching = () => {
      clearInterval(timer);
      this.#client.removeListener("ready", onReady);
    };
  }

  stop(): void {
    this.#stopWatching?.();
    this.#stopWatching = undefined;
  }

  #ask(): Promise<void> {
    this.#probe ??= this.#askRole().finally(() => {
      this.#probe = undefined;
    });
    return this.#probe;
  }

  async #askRole(): Promise<void> {
    const asked = this.#client.pipeline([["info", "replication"]]).exec();
    const replies = await new Deadline(this.#timeoutMs).limit(asked).catch((error: unknown) => {
      throw toRedisError(error);
    });
    const [error, text] = replies?.[0] ?? [null, undefined];
    if (error != null) throw toRedisError(error);
    this.#isDemoted = !/^role:master\r?$/m.test(String(text));
    if (this.#isDemoted) throw replicaError();
  }
}
