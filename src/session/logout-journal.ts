import { LRUCache } from "lru-cache";
import type { RedisConnection } from "../redis/connection.js";
import type { Generations } from "./generations.js";
import { ownCopy } from "./own-copy.js";
import { isGeneration, parseRecord } from "./record.js";
import { deleteRecord } from "./scripts/delete-record.js";
import type { StoreEvents } from "./store-events.js";

/** How long a logout is remembered, and how many: failovers lose the last moments, not the last hour. */
const REMEMBER_MS = 600_000;
const MAX_ENTRIES = 50_000;

const TICK_MS = 1_000;
/** Timers are not exact: without it, an entry that is due by a hair later than the tick would wait for the next. */
const SLACK_MS = 100;
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
  #endWatch: (() => void) | undefined;
  #isLooking = false;
  /** Everything is to be looked at, due or not. */
  #isAllDue = false;
  #isClosed = false;

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
    this.#isClosed = true;
    this.#rest();
    this.#raises.clear();
    this.#endings.clear();
  }

  #note(entries: LRUCache<string, JournalEntry>, name: string, value: string): void {
    // A logout may be answered after the store was closed.
    if (this.#isClosed) return;
    const nowMs = performance.now();
    entries.set(ownCopy(name), { value: ownCopy(value), notedAtMs: nowMs, dueAtMs: nowMs + TICK_MS - SLACK_MS });
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(this.#look, TICK_MS);
    this.#timer.unref();
    this.#endWatch = this.#parts.redis.onReady(this.#lookAtAll);
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#endWatch?.();
    this.#endWatch = undefined;
  }

  /** The client has connected anew, maybe to a server that lost writes: a promoted replica, a restored dump. */
  readonly #lookAtAll = (): void => {
    this.#isAllDue = true;
    this.#look();
  };

  readonly #look = (): void => {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#verify().then(
      () => {
        this.#isLooking = false;
        if (this.#raises.size + this.#endings.size === 0) this.#rest();
        else if (this.#isAllDue) this.#look();
      },
      () => {
        // Redis is away: the next tick looks again, and at everything, for it may come back with less than it had.
        this.#isLooking = false;
        this.#isAllDue = true;
      },
    );
  };

  async #verify(): Promise<void> {
    const isAllDue = this.#isAllDue;
    this.#isAllDue = false;
    const { redis, generations, sessionPrefix } = this.#parts;
    const nodeOfUser = (userText: string): string => redis.nodeNameOf(generations.keyOf(userText));
    const nodeOfSession = (sid: string): string => redis.nodeNameOf(sessionPrefix + sid);
    await forDue(this.#raises, isAllDue, nodeOfUser, (batch) => this.#verifyRaises(batch));
    await forDue(this.#endings, isAllDue, nodeOfSession, (batch) => this.#verifyEndings(batch));
  }

  async #verifyRaises(batch: readonly (readonly [userText: string, entry: JournalEntry])[]): Promise<void> {
    const { redis, generations, events } = this.#parts;
    const counters = await redis.mget(batch.map(([userText]) => generations.keyOf(userText)));
    const lost = batch.filter(([, { value }], index) => {
      const counter = counters[index];
      return isGeneration(counter) && BigInt(counter) < BigInt(value);
    });
    // All at once: until its turn comes, each of them is a session that lives again.
    const restore = async ([userText, { value }]: (typeof batch)[number]): Promise<void> => {
      if (await generations.restore(userText, value)) events.emit("reapplied", { what: "generation" });
    };
    await Promise.all(lost.map(restore));
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

type Batch = readonly (readonly [name: string, entry: JournalEntry])[];

/**
 * Hands out the entries that are due, in batches; forgets those past their time, and sets when the others are due next. What is on
 * different nodes is verified side by side: one that is away fails this only when all others are done.
 */
async function forDue(
  entries: LRUCache<string, JournalEntry>,
  isAllDue: boolean,
  nodeOf: (name: string) => string,
  verify: (batch: Batch) => Promise<void>,
): Promise<void> {
  const nowMs = performance.now();
  const dueOf = new Map<string, [string, JournalEntry][]>();
  for (const [name, entry] of entries.entries()) {
    if (nowMs - entry.notedAtMs > REMEMBER_MS) entries.delete(name);
    else if (isAllDue || entry.dueAtMs <= nowMs) {
      const node = nodeOf(name);
      const due = dueOf.get(node) ?? [];
      dueOf.set(node, due);
      due.push([name, entry]);
    }
  }
  const [only, ...others] = [...dueOf.values()];
  if (only === undefined) return;
  if (others.length === 0) return await inBatches(only, nowMs, verify);
  const verified = await Promise.allSettled([only, ...others].map((due) => inBatches(due, nowMs, verify)));
  const failed = verified.find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
}

async function inBatches(due: Batch, nowMs: number, verify: (batch: Batch) => Promise<void>): Promise<void> {
  for (let start = 0; start < due.length; start += MAX_BATCH) {
    const batch = due.slice(start, start + MAX_BATCH);
    await verify(batch);
    for (const [, entry] of batch) entry.dueAtMs = nowMs + intervalMs(nowMs - entry.notedAtMs) - SLACK_MS;
  }
}

/** Every second at first, when a failover is most likely to have lost the write; then less and less often. */
function intervalMs(ageMs: number): number {
  if (ageMs < 30_000) return TICK_MS;
  return ageMs < 120_000 ? 5_000 : 30_000;
}
