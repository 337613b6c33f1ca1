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

export const ABSENT: ReadOutcome = { kind: "absent" };
const CORRUPT: ReadOutcome = { kind: "corrupt" };
const UNCOUNTED: ReadOutcome = { kind: "uncounted" };

/** What stands under a session's key, not judged yet. A user other than the one guessed is remembered for the next read. */
export function foundIn(
  value: string | null,
  sid: string,
  guess: string | undefined,
  recent: RecentSessions,
): ReadOutcome {
  if (value === null) return ABSENT;
  const record = parseRecord(value);
  if (record === undefined) return isTakenMark(value) ? ABSENT : CORRUPT;
  if (record.login?.userText !== guess) recent.rememberUser(sid, record.login?.userText);
  return { kind: "live", record };
}

/** Whether a record's login is its user's current one. */
export function judge(record: StoredRecord, counter: string | null): ReadOutcome {
  // A record's generation was checked when it was parsed: what equals it needs no second look.
  if (counter !== null && counter === record.login?.generation) return { kind: "live", record };
  return isGeneration(counter) ? { kind: "stale", record } : UNCOUNTED;
}
