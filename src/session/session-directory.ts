import type { SessionData } from "express-session";
import type { RedisConnection } from "../redis/connection.js";
import { scanNames } from "../redis/scan.js";
import type { LogoutJournal } from "./logout-journal.js";
import type { RecentSessions } from "./recent-sessions.js";
import type { RetiredSessions } from "./retired-sessions.js";
import { endRecord } from "./scripts/end-record.js";
import { shareBinding } from "./session-binding.js";
import type { SessionLoader } from "./session-loader.js";

export interface DirectoryParts {
  readonly redis: RedisConnection;
  readonly loader: SessionLoader;
  readonly recent: RecentSessions;
  readonly retired: RetiredSessions;
  readonly journal: LogoutJournal;
  readonly sessionPrefix: string;
}

/** Sessions by their IDs: ending one, listing and clearing all. No security decision depends on the listing. */
export class SessionDirectory {
  readonly #parts: DirectoryParts;

  constructor(parts: DirectoryParts) {
    this.#parts = parts;
  }

  async destroy(sid: string): Promise<void> {
    const { redis, recent, retired, journal, sessionPrefix } = this.#parts;
    journal.noteEnding(sid, await redis.run(endRecord, sessionPrefix + sid, []));
    recent.forget(sid);
    retired.retire(sid);
  }

  async ids(): Promise<string[]> {
    const { redis, sessionPrefix } = this.#parts;
    const ids: string[] = [];
    for await (const batch of scanNames(redis, sessionPrefix)) ids.push(...batch);
    return ids;
  }

  async all(): Promise<(SessionData & { id: string })[]> {
    const { redis, loader, sessionPrefix } = this.#parts;
    const sessions: (SessionData & { id: string })[] = [];
    for await (const batch of scanNames(redis, sessionPrefix)) {
      const loaded = await Promise.all(batch.map((sid) => loader.load(sid)));
      for (const [index, { data }] of loaded.entries()) {
        if (data === null) continue;
        shareBinding(data);
        sessions.push(Object.assign(data, { id: batch[index] ?? "" }));
      }
    }
    return sessions;
  }

  async clear(): Promise<void> {
    const { redis, sessionPrefix } = this.#parts;
    for await (const batch of scanNames(redis, sessionPrefix)) {
      await redis.deleteMany(batch.map((sid) => sessionPrefix + sid));
    }
  }
}
