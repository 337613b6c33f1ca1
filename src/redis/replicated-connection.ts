import { RedisError } from "../errors.js";
import type { RedisClient } from "./client.js";
import { RedisConnection } from "./connection.js";
import { Deadline } from "./deadline.js";

/** Makes a write on the connection it is given: what the replicas must have received. */
export type Mark = (redis: RedisConnection) => Promise<void>;

interface DuplicableClient extends RedisClient {
  duplicate(override?: object): RedisClient;
}

/** One life of the connection, from ready to closed. */
class Line {
  isBroken = false;
  #break: () => void = () => undefined;
  readonly broken: Promise<void> = new Promise((resolve) => {
    this.#break = resolve;
  });

  break(): void {
    this.isBroken = true;
    this.#break();
  }
}

interface Waiter {
  readonly mark: Mark;
  readonly replicas: number;
  readonly timeoutMs: number;
  /** The line its mark was made on; on any other, WAIT would know of no write and count every replica. */
  line: Line | undefined;
  /** When the waiting ends; counted from the first mark. */
  endsAtMs: number | undefined;
  readonly acknowledged: (replicas: number) => void;
  readonly failed: (error: unknown) => void;
}

/** One WAIT holds up later marks on the connection for no longer than this. */
const SLICE_MS = 50;

/**
 * A connection of its own for asking how many replicas have a write. WAIT holds up everything behind it on its connection,
 * so on the shared one it would stall every page; and it counts only what its own connection wrote, so each caller makes
 * a mark there: a write that comes after, and so implies, the one in question. All callers share one WAIT at a time, in short
 * slices, so that one who waits long for a replica that is gone holds up nobody. Opened on first use.
 */
export class ReplicatedConnection {
  readonly #client: RedisClient;
  readonly #timeoutMs: number;
  readonly #overrides: object;
  readonly #waiting = new Set<Waiter>();
  #own: OwnConnection | undefined;
  #isRunning = false;
  #isClosed = false;

  /** `overrides`: options that its connection has and `client` has not. */
  constructor(client: RedisClient, timeoutMs: number, overrides: object = {}) {
    this.#client = client;
    this.#timeoutMs = timeoutMs;
    this.#overrides = overrides;
  }

  /** Makes a mark and waits for up to `timeoutMs` until `replicas` replicas have it; says how many have. */
  async acknowledged(mark: Mark, replicas: number, timeoutMs: number): Promise<number> {
    let waiter: Waiter | undefined;
    const answer = new Promise<number>((acknowledged, failed) => {
      waiter = { mark, replicas, timeoutMs, line: undefined, endsAtMs: undefined, acknowledged, failed };
      this.#waiting.add(waiter);
    });
    void this.#run();
    try {
      return await new Deadline(this.#timeoutMs + timeoutMs).limit(answer);
    } finally {
      if (waiter !== undefined) this.#waiting.delete(waiter);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#drop();
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    while (this.#waiting.size > 0) {
      try {
        await this.#round();
      } catch (error) {
        // Nobody knows what this connection is still good for.
        this.#drop();
        for (const waiter of this.#waiting) this.#settle(waiter, () => waiter.failed(error));
      }
    }
    this.#isRunning = false;
  }

  /** Makes the marks that are missing and waits once, for all. */
  async #round(): Promise<void> {
    const own = this.#open();
    await own.redis.whenReady();
    const { line } = own;
    if (!line.isBroken) {
      const marks = [...this.#waiting]
        .filter((waiter) => waiter.line !== line)
        .map((one) => this.#mark(one, own, line));
      await Promise.race([Promise.all(marks), line.broken]);
    }
    const marked = [...this.#waiting].filter((waiter) => waiter.line === line);
    if (!line.isBroken && marked.length > 0) {
      const replicas = Math.max(...marked.map((waiter) => waiter.replicas));
      const leftMs = Math.min(...marked.map(({ endsAtMs = 0 }) => endsAtMs - performance.now()));
      const waitMs = Math.min(SLICE_MS, Math.max(1, Math.ceil(leftMs)));
      const count = await Promise.race([own.redis.waitForReplicas(replicas, waitMs), line.broken]);
      if (count !== undefined && !line.isBroken) this.#count(marked, count);
    }
    // The events that say that a line is broken, or good again, need a turn of the event loop.
    if (line.isBroken) await new Promise((resolve) => setImmediate(resolve));
  }

  async #mark(waiter: Waiter, { redis }: OwnConnection, line: Line): Promise<void> {
    try {
      await waiter.mark(redis);
    } catch (error) {
      if (line.isBroken) return;
      this.#settle(waiter, () => waiter.failed(error));
      // No answer: this socket may hang for ever.
      if (error instanceof RedisError && error.outcome === "unknown") this.#drop();
      return;
    }
    if (line.isBroken) return;
    waiter.line = line;
    waiter.endsAtMs ??= performance.now() + waiter.timeoutMs;
  }

  #count(marked: readonly Waiter[], replicas: number): void {
    const nowMs = performance.now();
    for (const waiter of marked) {
      const isOver = (waiter.endsAtMs ?? 0) <= nowMs;
      if (isOver || replicas >= waiter.replicas) this.#settle(waiter, () => waiter.acknowledged(replicas));
    }
  }

  #settle(waiter: Waiter, settle: () => void): void {
    this.#waiting.delete(waiter);
    settle();
  }

  #drop(): void {
    this.#own?.client.disconnect();
    this.#own = undefined;
  }

  #open(): OwnConnection {
    if (this.#isClosed) {
      throw new RedisError("ERR_STORE_CLOSED", "not-sent", "The store was closed while it waited for replicas");
    }
    // Its retryStrategy may have given up during an outage.
    if (this.#own?.client.status === "end") this.#drop();
    this.#own ??= new OwnConnection(this.#client, this.#timeoutMs, this.#overrides);
    return this.#own;
  }
}

class OwnConnection {
  readonly client: RedisClient;
  readonly redis: RedisConnection;
  line = new Line();

  constructor(shared: RedisClient, timeoutMs: number, overrides: object) {
    this.client = duplicateOf(shared, overrides);
    // Each failure reaches the caller as a deadline; without a listener ioredis would print it too.
    this.client.on("error", () => undefined);
    this.client.on("close", () => this.line.break());
    this.client.on("ready", () => {
      if (this.line.isBroken) this.line = new Line();
    });
    this.redis = new RedisConnection(this.client, timeoutMs);
  }
}

function duplicateOf(shared: RedisClient, overrides: object): RedisClient {
  const { duplicate } = shared as Partial<DuplicableClient>;
  if (typeof duplicate !== "function") {
    throw new RedisError(
      "ERR_REDIS_UNAVAILABLE",
      "not-sent",
      "This client cannot open a connection to wait for replicas",
    );
  }
  // Sent again, or late, a write and the WAIT behind it would no longer be on one connection.
  const always = { autoResendUnfulfilledCommands: false, enableOfflineQueue: false, lazyConnect: true };
  return duplicate.call(shared, { ...overrides, ...always });
}
