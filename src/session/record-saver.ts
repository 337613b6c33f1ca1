import type { RedisConnection } from "../redis/connection.js";
import type { Deadline } from "../redis/deadline.js";
import { Gathering } from "./gathering.js";
import { type SaveReply, saveRecords } from "./scripts/save-records.js";

/** A payload to be written under a head that stays. */
export interface RecordSave {
  readonly key: string;
  readonly head: string;
  readonly payload: string;
  readonly ttlMs: string;
  readonly deadline: Deadline;
}

interface PendingSave {
  readonly save: RecordSave;
  /** The server's reply, or what kept it from coming. */
  reply: SaveReply | { readonly error: unknown };
}

/** Saves per command, and their payloads together: bounds what one command keeps the server busy with. */
const MAX_BATCH = 100;
const MAX_BATCH_CHARACTERS = 262_144;
/** Saves whose deadlines are this close go together, under the earliest. */
const DEADLINE_TOLERANCE_MS = 50;

/**
 * Writes the payloads of sessions whose head stays, the plain case of a save. All saves of a moment share one command, which
 * costs far less than one each, here and in Redis.
 */
export class RecordSaver {
  readonly #redis: RedisConnection;
  readonly #gathering = new Gathering<PendingSave>(MAX_BATCH, (saves) => this.#flush(saves));

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  /** True if written; false if the record has another head by now, or is gone. */
  async save(save: RecordSave): Promise<boolean> {
    const pending: PendingSave = { save, reply: "" };
    await this.#gathering.add(pending);
    const { reply } = pending;
    if (typeof reply === "object") throw reply.error;
    if (reply === "1" || reply === "0") return reply === "1";
    throw this.#redis.refusal(reply);
  }

  async #flush(saves: readonly PendingSave[]): Promise<void> {
    await Promise.all(batches(saves, this.#redis.isClustered ? 1 : MAX_BATCH).map((batch) => this.#write(batch)));
  }

  async #write(batch: readonly PendingSave[]): Promise<void> {
    const keys: string[] = [];
    const args: string[] = [];
    let deadline: Deadline | undefined;
    for (const { save } of batch) {
      keys.push(save.key);
      args.push(save.head, save.payload, save.ttlMs);
      if (deadline === undefined || save.deadline.endsAtMs < deadline.endsAtMs) deadline = save.deadline;
    }
    try {
      const replies = await this.#redis.runOver(saveRecords, keys, args, deadline ?? this.#redis.deadline());
      for (const [n, pending] of batch.entries()) pending.reply = replies[n] ?? "";
    } catch (error) {
      for (const pending of batch) pending.reply = { error };
    }
  }
}

/** In order: what is saved twice in one moment ends as the second says. */
function batches(saves: readonly PendingSave[], maxSaves: number): PendingSave[][] {
  const all: PendingSave[][] = [];
  let batch: PendingSave[] = [];
  let characters = 0;
  for (const pending of saves) {
    const { save } = pending;
    const first = batch[0]?.save;
    const fits =
      batch.length < maxSaves &&
      characters + save.payload.length <= MAX_BATCH_CHARACTERS &&
      Math.abs((first?.deadline.endsAtMs ?? 0) - save.deadline.endsAtMs) <= DEADLINE_TOLERANCE_MS;
    if (first === undefined || !fits) {
      batch = [];
      all.push(batch);
      characters = 0;
    }
    batch.push(pending);
    characters += save.payload.length;
  }
  return all;
}
