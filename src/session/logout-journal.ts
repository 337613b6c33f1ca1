import { LRUCache } from "lru-cache";
import type { RedisConnection } from "../redis/connection.js";
import type { Generations } from "./generations.js";
import { isGeneration, parseRecord } from "./record.js";
import { deleteRecord } from "./scripts/delete-record.js";
import type { StoreEvents } from "./store-events.js";

/** How long a logout is remembered, and how many: failovers lose the last moments, not the last hour. */
const REMEMBER_MS = 600_000;
const MAX_ENTRIES = 50_000;

const TICK_MS = 1_000;
/** Entries verified with one command. */
const MAX_BATCH = 500;

interface JournalEntry {
  /** The generation a counter must have reached, or the head of a record that must be gone. */
  readonly value: string;
  readonly notedAtMs: number;
  dueAtMs: number;
}

export interface JournalParts {
  readonly redis: RedisConnection;
  readonly generations: Generations;
  readonly events: StoreEvents;
  readonly sessionPrefix: string;
}

/**
 * Remembers the logouts this process has made and verifies by reading that they still hold: a failover or a restored dump can
 * lose a write that Redis had acknowledged. What was lost is applied again, counters only upwards. It closes a window, it
 * does not remove it: until the next look, a lost logout is lost. It dies with the process.
 */
export class LogoutJournal {
  readonly #parts: JournalParts;
  readonly #raises = new LRUCache<string, JournalEntry>({ max: MAX_ENTRIES });
  readonly #endings = new LRUCache<string, JournalEntry>({ max: MAX_ENTRIES });
  #timer: NodeJS.Timeout | undefined;
  #looking = false;

  constructor(parts: JournalParts) {
    this.#parts = parts;
  }

  /** A user's generation was raised to this. */
  noteRaise(userText: string, generation: string): void {
    this.#note(this.#raises, userText, generation);
  }

  /** A record that began like this was deleted; text that is no record is not noted. */
  noteEnding(sid: string, beginning: string): void {
    const head = parseRecord(beginning)?.head;
    // A bare head has no nonce: another service may rightly write the very same record again.
    if (head?.endsWith(",")) this.#note(this.#endings, sid, head);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#raises.clear();
    this.#endings.clear();
  }

  #note(entries: LRUCache<string, JournalEntry>, name: string, value: string): void {
    const nowMs = performance.now();
    entries.set(name, { value, notedAtMs: nowMs, dueAtMs: nowMs + TICK_MS });
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
  }

  #tick(): void {
    if (this.#looking) return;
    this.#looking = true;
    this.#look().then(
      () => {
        this.#looking = false;
        if (this.#raises.size + this.#endings.size > 0) return;
        clearInterval(this.#timer);
        this.#timer = undefined;
      },
      () => {
        // Redis is away: entries stay due, the next tick looks again.
        this.#looking = false;
      },
    );
  }

  async #look(): Promise<void> {
    await forDue(this.#raises, (batch) => this.#verifyRaises(batch));
    await forDue(this.#endings, (batch) => this.#verifyEndings(batch));
  }

  async #verifyRaises(batch: readonly (readonly [userText: string, entry: JournalEntry])[]): Promise<void> {
    const { redis, generations, events } = this.#parts;
    const counters = await redis.mget(batch.map(([userText]) => generations.keyOf(userText)));
    for (const [index, [userText, { value }]] of batch.entries()) {
      const counter = counters[index];
      if (!isGeneration(counter) || BigInt(counter) >= BigInt(value)) continue;
      if (await generations.restore(userText, value)) events.emit("reapplied", { what: "generation" });
    }
  }

  async #verifyEndings(batch: readonly (readonly [sid: string, entry: JournalEntry])[]): Promise<void> {
    const { redis, events, sessionPrefix } = this.#parts;
    const records = await redis.mget(batch.map(([sid]) => sessionPrefix + sid));
    for (const [index, [sid, { value }]] of batch.entries()) {
      if (records[index]?.startsWith(value) !== true) continue;
      const deleted = await redis.run(deleteRecord, sessionPrefix + sid, [value, ""]);
      if (deleted) events.emit("reapplied", { what: "session" });
    }
  }
}

/** Hands out the entries that are due, in batches; forgets those past their time, and sets when the others are due next. */
async function forDue(
  entries: LRUCache<string, JournalEntry>,
  verify: (batch: readonly (readonly [string, JournalEntry])[]) => Promise<void>,
): Promise<void> {
  const nowMs = performance.now();
  const due: (readonly [string, JournalEntry])[] = [];
  for (const [name, entry] of entries.entries()) {
    if (nowMs - entry.notedAtMs > REMEMBER_MS) entries.delete(name);
    else if (entry.dueAtMs <= nowMs) due.push([name, entry]);
  }
  for (let start = 0; start < due.length; start += MAX_BATCH) {
    const batch = due.slice(start, start + MAX_BATCH);
    await verify(batch);
    for (const [, entry] of batch) entry.dueAtMs = nowMs + intervalMs(nowMs - entry.notedAtMs);
  }
}

/** Every second at first, when a failover is most likely to have lost the write; then less and less often. */
function intervalMs(ageMs: number): number {
  if (ageMs < 30_000) return TICK_MS;
  return ageMs < 120_000 ? 5_000 : 30_000;
}
