import type { RedisConnection } from "../redis/connection.js";
import type { Deadline } from "../redis/deadline.js";
import { Gathering } from "../redis/gathering.js";
import type { Generations } from "./generations.js";
import { ABSENT, foundIn, judge, type ReadOutcome } from "./read-outcome.js";
import type { RecentSessions } from "./recent-sessions.js";

interface PendingRead {
  readonly sid: string;
  /** Where its record comes back. */
  row: number;
  /** The user this session is expected to be of, and the column of that user's counter. */
  guess: string | undefined;
  column: number;
  outcome: ReadOutcome;
  /** For a read of a user that was not expected: the second round trip. */
  later: Promise<void> | undefined;
}

/**
 * Sessions per MGET: bounds what one command keeps the server busy with. Several smaller ones on their way at once let Redis work
 * on the next while this process works on the last.
 */
const MAX_BATCH = 100;

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
  readonly #gathering: Gathering<PendingRead>;

  constructor(redis: RedisConnection, generations: Generations, recent: RecentSessions, sessionPrefix: string) {
    this.#redis = redis;
    this.#generations = generations;
    this.#recent = recent;
    this.#sessionPrefix = sessionPrefix;
    this.#gathering = new Gathering(redis.moment, MAX_BATCH, (batch) => this.#readTogether(batch));
  }

  /** Reads a session and answers what `use` makes of it: a step less than awaiting it first, and there is one for each request. */
  read<T>(sid: string, use: (outcome: ReadOutcome) => T): Promise<T> {
    const read: PendingRead = { sid, row: -1, guess: undefined, column: -1, outcome: ABSENT, later: undefined };
    // `then` of the caller's own: that brings it back into its async context.
    return this.#gathering
      .add(read)
      .then(() => (read.later === undefined ? use(read.outcome) : read.later.then(() => use(read.outcome))));
  }

  async #readTogether(batch: readonly PendingRead[]): Promise<void> {
    const deadline = this.#redis.deadline();
    const keys = this.#keysOf(batch);
    const values = await this.#redis.mget(keys, deadline);

    const open: PendingRead[] = [];
    for (const read of batch) {
      const found = foundIn(values[read.row] ?? null, read.sid, read.guess, this.#recent);
      read.outcome = found;
      if (found.kind !== "live" || found.record.login === undefined) continue;
      if (found.record.login.userText !== read.guess) open.push(read);
      else read.outcome = judge(found.record, values[read.column] ?? null);
    }
    if (open.length === 0) return;
    // Those above are answered without it: a failure from here on is that of the open ones only.
    const later = this.#readCounters(open, deadline);
    for (const read of open) read.later = later;
  }

  /** The keys of the records and of the counters that they are expected to need, each once. */
  #keysOf(batch: readonly PendingRead[]): string[] {
    const keys: string[] = [];
    const rows = new Map<string, number>();
    for (const read of batch) {
      read.row = rows.get(read.sid) ?? keys.length;
      if (read.row < keys.length) continue;
      rows.set(read.sid, read.row);
      keys.push(this.#sessionPrefix + read.sid);
    }
    const columns = new Map<string, number>();
    for (const read of batch) {
      read.guess = this.#recent.userOf(read.sid);
      if (read.guess === undefined) continue;
      read.column = columns.get(read.guess) ?? keys.length;
      if (read.column < keys.length) continue;
      columns.set(read.guess, read.column);
      keys.push(this.#generations.keyOf(read.guess));
    }
    return keys;
  }

  /** The second round trip, for records of users that were not expected. */
  async #readCounters(open: readonly PendingRead[], deadline: Deadline): Promise<void> {
    const users = [...new Set(open.map(userOf))];
    const counters = await this.#redis.mget(
      users.map((user) => this.#generations.keyOf(user)),
      deadline,
    );
    const counterOf = new Map(users.map((user, index) => [user, counters[index] ?? null]));
    for (const read of open) {
      if (read.outcome.kind === "live") read.outcome = judge(read.outcome.record, counterOf.get(userOf(read)) ?? null);
    }
  }
}

/** The user a record names whose counter is not there yet. */
function userOf({ outcome }: PendingRead): string {
  return outcome.kind === "live" ? (outcome.record.login?.userText ?? "") : "";
}
