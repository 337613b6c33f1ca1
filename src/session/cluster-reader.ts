import type { RedisConnection } from "../redis/connection.js";
import type { Deadline } from "../redis/deadline.js";
import type { Generations } from "./generations.js";
import { foundIn, judge, type ReadOutcome } from "./read-outcome.js";
import type { RecentSessions } from "./recent-sessions.js";
import type { StoredRecord } from "./record.js";

/**
 * Reads sessions on a cluster, where a record and its user's counter are on different nodes. Both are asked at once, each in one command
 * with all else that goes to that node in the moment; a node that is away holds up only the reads that need it. Two answers
 * that agree prove that the login held while they were asked for. Two that differ may be of different moments: then the record
 * is asked for again, and its counter after it.
 */
export class ClusterSessionReader {
  readonly #redis: RedisConnection;
  readonly #generations: Generations;
  readonly #recent: RecentSessions;
  readonly #sessionPrefix: string;

  constructor(redis: RedisConnection, generations: Generations, recent: RecentSessions, sessionPrefix: string) {
    this.#redis = redis;
    this.#generations = generations;
    this.#recent = recent;
    this.#sessionPrefix = sessionPrefix;
  }

  async read<T>(sid: string, use: (outcome: ReadOutcome) => T): Promise<T> {
    return use(await this.#read(sid));
  }

  async #read(sid: string): Promise<ReadOutcome> {
    const deadline = this.#redis.deadline();
    const guess = this.#recent.userOf(sid);
    if (guess === undefined) return await this.#readInOrder(sid, deadline);
    const keys = [this.#sessionPrefix + sid, this.#generations.keyOf(guess)];
    const [value = null, counter = null] = await this.#redis.mget(keys, deadline);
    const found = foundIn(value, sid, guess, this.#recent);
    if (found.kind !== "live" || found.record.login === undefined) return found;
    if (found.record.login.userText !== guess) return await this.#judgeNow(found.record, deadline);
    const judged = judge(found.record, counter);
    return judged.kind === "live" ? judged : await this.#readInOrder(sid, deadline);
  }

  async #readInOrder(sid: string, deadline: Deadline): Promise<ReadOutcome> {
    const [value = null] = await this.#redis.mget([this.#sessionPrefix + sid], deadline);
    const found = foundIn(value, sid, this.#recent.userOf(sid), this.#recent);
    if (found.kind !== "live" || found.record.login === undefined) return found;
    return await this.#judgeNow(found.record, deadline);
  }

  async #judgeNow(record: StoredRecord, deadline: Deadline): Promise<ReadOutcome> {
    const [counter = null] = await this.#redis.mget([this.#generations.keyOf(record.login?.userText ?? "")], deadline);
    return judge(record, counter);
  }
}
