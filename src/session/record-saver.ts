import type { RedisConnection } from "../redis/connection.js";
import type { Deadline } from "../redis/deadline.js";
import { Gathering } from "../redis/gathering.js";
import { type SaveReply, saveRecords } from "./scripts/save-records.js";

/** A payload to be written under a head that stays, and what became of it. */
export interface RecordSave {
  readonly key: string;
  readonly head: string;
  readonly payload: string;
  readonly ttlMs: string;
  readonly deadline: Deadline;
  /** The server's reply, or what kept it from coming. */
  reply: SaveReply | { readonly error: unknown };
}

export function newSave(key: string, head: string, payload: string, ttlMs: string, deadline: Deadline): RecordSave {
  return { key, head, payload, ttlMs, deadline, reply: "" };
}

/**
 * Saves per command, and their payloads together: bounds what one command keeps the server busy with. Several smaller ones on
 * their way at once let Redis work on the next while this process works on the last.
 */
const MAX_BATCH = 25;
const MAX_BATCH_CHARACTERS = 262_144;
/** Saves whose deadlines are this close go together, under the earliest. */
const DEADLINE_TOLERANCE_MS = 50;

/**
 * Writes the payloads of sessions whose head stays, the plain case of a save. All saves of a moment share one command, which
 * costs far less than one each, here and in Redis.
 */
export class RecordSaver {
  readonly #redis: RedisConnection;
  readonly #gathering: Gathering<RecordSave>;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
    this.#gathering = new Gathering(redis.moment, MAX_BATCH, (saves) => this.#flush(saves));
  }

  /** Writes it, with all others of the moment; on a cluster, where a command has one key, by itself. */
  add(save: RecordSave): Promise<void> {
    if (this.#redis.isClustered) return this.#write([save]);
    return this.#gathering.add(save);
  }

  /** Of one that was added: false if the record has another head by now, or is gone. Throws what kept it from being written. */
  isWritten({ reply }: RecordSave): boolean {
    if (typeof reply === "object") throw reply.error;
    if (reply === "1" || reply === "0") return reply === "1";
    throw this.#redis.refusal(reply);
  }

  async #flush(saves: readonly RecordSave[]): Promise<void> {
    await Promise.all(batches(saves).map((batch) => this.#write(batch)));
  }

  async #write(batch: readonly RecordSave[]): Promise<void> {
    const keys: string[] = [];
    const args: string[] = [];
    let deadline: Deadline | undefined;
    for (const save of batch) {
      keys.push(save.key);
      // The head twice: joining the two there costs Redis more than reading it again.
      args.push(save.head, save.head + save.payload, save.ttlMs);
      if (deadline === undefined || save.deadline.endsAtMs < deadline.endsAtMs) deadline = save.deadline;
    }
    try {
      const replies = await this.#redis.runOver(saveRecords, keys, args, deadline ?? this.#redis.deadline());
      for (const [n, save] of batch.entries()) save.reply = replies[n] ?? "";
    } catch (error) {
      for (const save of batch) save.reply = { error };
    }
  }
}

/** In order: what is saved twice in one moment ends as the second says. */
function batches(saves: readonly RecordSave[]): RecordSave[][] {
  const all: RecordSave[][] = [];
  let batch: RecordSave[] = [];
  let characters = 0;
  for (const save of saves) {
    const [first] = batch;
    const fits =
      characters + save.payload.length <= MAX_BATCH_CHARACTERS &&
      Math.abs((first?.deadline.endsAtMs ?? 0) - save.deadline.endsAtMs) <= DEADLINE_TOLERANCE_MS;
    if (first === undefined || !fits) {
      batch = [];
      all.push(batch);
      characters = 0;
    }
    batch.push(save);
    characters += save.payload.length;
  }
  return all;
}
