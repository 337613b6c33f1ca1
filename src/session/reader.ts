import type { RedisConnection } from "../redis/connection.js";
import type { Deadline } from "../redis/deadline.js";
import { Gathering } from "./gathering.js";
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
  readonly key: string;
  outcome: ReadOutcome;
  /** For a read whose user was not known before: the second round trip. */
  later: Promise<void> | undefined;
}

/** Sessions per MGET: bounds what one command keeps the server busy with. */
const MAX_BATCH = 500;

const ABSENT: ReadOutcome = { kind: "absent" };
const CORRUPT: ReadOutcome = { kind: "corrupt" };
const UNCOUNTED: ReadOutcome = { kind: "uncounted" };

/**
 * Reads sessions and checks them against their users' generations. All reads of a moment (`Gathering`) share one MGET
 * over the records and the counters they are expected to need. The expectation is only a guess at *which* counter to fetch:
 * the user named in the record decides, and a wrong or missing guess costs one more round trip (record first, then counter:
 * a logout in between is seen).
 */
export class SessionReader {
  readonly #redis: RedisConnection;
  readonly #generations: Generations;
  readonly #recent: RecentSessions;
  readonly #sessionPrefix: string;
  readonly #gathering = new Gathering<PendingRead>(MAX_BATCH, (batch) => this.#readTogether(batch));

  constructor(redis: RedisConnection, generations: Generations, recent: RecentSessions, sessionPrefix: string) {
    this.#redis = redis;
    this.#generations = generations;
    this.#recent = recent;
    this.#sessionPrefix = sessionPrefix;
  }

  async read(sid: string): Promise<ReadOutcome> {
    const read: PendingRead = { sid, key: this.#sessionPrefix + sid, outcome: ABSENT, later: undefined };
    await this.#gathering.add(read);
    if (read.later !== undefined) await read.later;
    return read.outcome;
  }

  async #readTogether(batch: readonly PendingRead[]): Promise<void> {
    const deadline = this.#redis.deadline();
    const columns = new Columns();
    for (const { key } of batch) columns.want(key);
    for (const { sid } of batch) {
      const guess = this.#recent.userOf(sid);
      if (guess !== undefined) columns.want(this.#generations.keyOf(guess));
    }
    columns.values = await this.#redis.mget(columns.keys, deadline);

    const open: PendingRead[] = [];
    for (const read of batch) {
      const value = columns.get(read.key);
      const found = value === null || value === undefined ? ABSENT : this.#classify(read.sid, value);
      read.outcome = found;
      if (found.kind !== "live" || found.record.login === undefined) continue;
      const counter = columns.get(this.#generations.keyOf(found.record.login.userText));
      if (counter === undefined) open.push(read);
      else read.outcome = judge(found.record, counter);
    }
    if (open.length === 0) return;
    // Those above are answered without it: a failure from here on is that of the open ones only.
    const later = this.#readCounters(open, deadline);
    for (const read of open) read.later = later;
  }

  /** The second round trip, for records of users that were not expected. */
  async #readCounters(open: readonly PendingRead[], deadline: Deadline): Promise<void> {
    const columns = new Columns();
    for (const { outcome } of open) columns.want(this.#counterKeyOf(outcome));
    columns.values = await this.#redis.mget(columns.keys, deadline);
    for (const read of open) {
      const { outcome } = read;
      if (outcome.kind === "live")
        read.outcome = judge(outcome.record, columns.get(this.#counterKeyOf(outcome)) ?? null);
    }
  }

  #counterKeyOf(outcome: ReadOutcome): string {
    return this.#generations.keyOf(outcome.kind === "live" ? (outcome.record.login?.userText ?? "") : "");
  }

  #classify(sid: string, value: string): ReadOutcome {
    const record = parseRecord(value);
    if (record === undefined) return isTakenMark(value) ? ABSENT : CORRUPT;
    this.#recent.rememberUser(sid, record.login?.userText);
    return { kind: "live", record };
  }
}

/** The keys of one MGET, each once, and what came back. */
class Columns {
  readonly keys: string[] = [];
  values: readonly (string | null)[] = [];
  readonly #columns = new Map<string, number>();

  want(key: string): void {
    if (this.#columns.has(key)) return;
    this.#columns.set(key, this.keys.length);
    this.keys.push(key);
  }

  /** `undefined` for a key that was not asked for. */
  get(key: string): string | null | undefined {
    const column = this.#columns.get(key);
    return column === undefined ? undefined : (this.values[column] ?? null);
  }
}

function judge(record: StoredRecord, counter: string | null): ReadOutcome {
  if (!isGeneration(counter)) return UNCOUNTED;
  return { kind: counter === record.login?.generation ? "live" : "stale", record };
}
