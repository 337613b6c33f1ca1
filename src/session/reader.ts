import type { RedisConnection } from "../redis/connection.js";
import type { Generations } from "./generations.js";
import type { RecentSessions } from "./recent-sessions.js";
import { isGeneration, parseRecord, type StoredRecord } from "./record.js";
import { isTakenMark } from "./taken-mark.js";

/**
 * What a read found. Only `live` is a session; `stale` names another generation than the user's current one, `uncounted`
 * has no usable counter to compare with.
 */
export type ReadOutcome =
  | { readonly kind: "live"; readonly record: StoredRecord }
  | { readonly kind: "stale"; readonly record: StoredRecord }
  | { readonly kind: "uncounted" }
  | { readonly kind: "corrupt" }
  | { readonly kind: "absent" };

interface PendingRead {
  readonly sid: string;
  readonly settle: { resolve(outcome: ReadOutcome): void; reject(error: unknown): void }[];
}

/** Sessions per MGET: bounds what one command keeps the server busy with. */
const MAX_BATCH = 500;

const ABSENT: ReadOutcome = { kind: "absent" };
const CORRUPT: ReadOutcome = { kind: "corrupt" };
const UNCOUNTED: ReadOutcome = { kind: "uncounted" };

/**
 * Reads sessions and checks them against their users' generations. All reads up to the next `setImmediate` share one MGET
 * over the records and the counters they are expected to need. The expectation is only a guess at *which* counter to fetch:
 * the user named in the record decides, and a wrong or missing guess costs one more round trip (record first, then counter:
 * a logout in between is seen).
 *
 * Callers must `await` the returned promise: that is what brings each back into its own async context.
 */
export class SessionReader {
  readonly #redis: RedisConnection;
  readonly #generations: Generations;
  readonly #recent: RecentSessions;
  readonly #sessionPrefix: string;
  #pending = new Map<string, PendingRead>();

  constructor(redis: RedisConnection, generations: Generations, recent: RecentSessions, sessionPrefix: string) {
    this.#redis = redis;
    this.#generations = generations;
    this.#recent = recent;
    this.#sessionPrefix = sessionPrefix;
  }

  read(sid: string): Promise<ReadOutcome> {
    return new Promise<ReadOutcome>((resolve, reject) => {
      const pending = this.#pending.get(sid);
      if (pending !== undefined) {
        pending.settle.push({ resolve, reject });
        return;
      }
      if (this.#pending.size === 0) setImmediate(this.#flush);
      this.#pending.set(sid, { sid, settle: [{ resolve, reject }] });
    });
  }

  readonly #flush = (): void => {
    const all = [...this.#pending.values()];
    this.#pending = new Map();
    for (let start = 0; start < all.length; start += MAX_BATCH) {
      const batch = all.slice(start, start + MAX_BATCH);
      this.#readBatch(batch).catch((error: unknown) => {
        for (const { settle } of batch) for (const caller of settle) caller.reject(error);
      });
    }
  };

  async #readBatch(batch: readonly PendingRead[]): Promise<void> {
    const deadline = this.#redis.deadline();
    const keys = batch.map(({ sid }) => this.#sessionPrefix + sid);
    const counters = new CounterColumns(keys, this.#generations);
    for (const { sid } of batch) {
      const guess = this.#recent.userOf(sid);
      if (guess !== undefined) counters.want(guess);
    }
    const values = await this.#redis.mget(keys, deadline);
    counters.fill(values);

    const open: { readonly read: PendingRead; readonly record: StoredRecord; readonly userText: string }[] = [];
    const missing = new CounterColumns([], this.#generations);
    for (const [index, read] of batch.entries()) {
      const value = values[index] ?? null;
      const found = value === null ? ABSENT : this.#classify(read.sid, value);
      if (found.kind !== "live" || found.record.login === undefined) {
        settleRead(read, found);
        continue;
      }
      const { userText } = found.record.login;
      if (counters.has(userText)) settleRead(read, judge(found.record, counters.get(userText)));
      else {
        missing.want(userText);
        open.push({ read, record: found.record, userText });
      }
    }
    if (open.length === 0) return;
    // The callers settled above are not affected by a failure from here on: settling twice does nothing.
    missing.fill(await this.#redis.mget(missing.keys, deadline));
    for (const { read, record, userText } of open) settleRead(read, judge(record, missing.get(userText)));
  }

  #classify(sid: string, value: string): ReadOutcome {
    const record = parseRecord(value);
    if (record === undefined) return isTakenMark(value) ? ABSENT : CORRUPT;
    this.#recent.rememberUser(sid, record.login?.userText);
    return { kind: "live", record };
  }
}

/** The counters of one MGET: which users' are in it, at which place, and what came back. */
class CounterColumns {
  readonly keys: string[];
  readonly #generations: Generations;
  readonly #columns = new Map<string, number>();
  #values: readonly (string | null)[] = [];

  constructor(keys: string[], generations: Generations) {
    this.keys = keys;
    this.#generations = generations;
  }

  want(userText: string): void {
    if (this.#columns.has(userText)) return;
    this.#columns.set(userText, this.keys.length);
    this.keys.push(this.#generations.keyOf(userText));
  }

  fill(values: readonly (string | null)[]): void {
    this.#values = values;
  }

  has(userText: string): boolean {
    return this.#columns.has(userText);
  }

  get(userText: string): string | null {
    const column = this.#columns.get(userText);
    return column === undefined ? null : (this.#values[column] ?? null);
  }
}

function judge(record: StoredRecord, counter: string | null): ReadOutcome {
  if (!isGeneration(counter)) return UNCOUNTED;
  return { kind: counter === record.login?.generation ? "live" : "stale", record };
}

function settleRead(read: PendingRead, outcome: ReadOutcome): void {
  for (const caller of read.settle) caller.resolve(outcome);
}
