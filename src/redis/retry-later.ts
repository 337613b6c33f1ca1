import type { RedisConnection } from "./connection.js";

const RETRY_MS = 1_000;
/** How long something is kept for Redis to come back. */
const MAX_AGE_MS = 10 * 60_000;
/** How much of this process' memory it may take; what comes on top is dropped. */
const MAX_CHARACTERS = 16 * 1_048_576;
const MAX_TASKS = 10_000;

interface Task {
  readonly run: () => Promise<unknown>;
  readonly characters: number;
  readonly sinceMs: number;
}

/**
 * What could not be told to Redis and still makes sense later: tried again at once, when the client has connected anew, and
 * every second, for ten minutes. Only for writes that do nothing twice and nothing wrong when they come late.
 */
export class RetryLater {
  readonly #redis: Pick<RedisConnection, "onReady">;
  readonly #tasks = new Set<Task>();
  #characters = 0;
  #stopRetrying: (() => void) | undefined;
  #isRetrying = false;

  constructor(redis: Pick<RedisConnection, "onReady">) {
    this.#redis = redis;
  }

  /** `characters`: how much text the task holds on to. */
  add(run: () => Promise<unknown>, characters: number): void {
    if (this.#characters + characters > MAX_CHARACTERS || this.#tasks.size === MAX_TASKS) return;
    this.#tasks.add({ run, characters, sinceMs: performance.now() });
    this.#characters += characters;
    this.#stopRetrying ??= this.#startRetrying();
    void this.#retry();
  }

  /** Also at the very moment the client is connected anew: before others ask for what it is about. */
  #startRetrying(): () => void {
    const retry = (): void => void this.#retry();
    const stopListening = this.#redis.onReady(retry);
    const timer = setInterval(retry, RETRY_MS);
    timer.unref();
    return () => {
      stopListening();
      clearInterval(timer);
    };
  }

  async #retry(): Promise<void> {
    if (this.#isRetrying) return;
    this.#isRetrying = true;
    await Promise.all([...this.#tasks].map((task) => this.#try(task)));
    this.#isRetrying = false;
    if (this.#tasks.size > 0) return;
    this.#stopRetrying?.();
    this.#stopRetrying = undefined;
  }

  async #try(task: Task): Promise<void> {
    try {
      await task.run();
      this.#drop(task);
    } catch {
      if (performance.now() - task.sinceMs > MAX_AGE_MS) this.#drop(task);
    }
  }

  #drop(task: Task): void {
    if (this.#tasks.delete(task)) this.#characters -= task.characters;
  }
}
