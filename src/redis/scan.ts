import type { RedisConnection } from "./connection.js";

const GLOB_CHARACTERS = /[*?[\]\\]/g;

/** Escapes what SCAN's MATCH would take for a pattern, so a prefix `a[bc]:` matches only itself. */
export function escapeGlob(text: string): string {
  return text.replace(GLOB_CHARACTERS, "\\$&");
}

/**
 * Walks all keys that start with `prefix` and yields them in batches of names without prefix, each name once.
 * Not a snapshot: keys created or deleted during the walk may or may not be seen (Redis' SCAN guarantees).
 */
export async function* scanNames(redis: RedisConnection, prefix: string, count = 500): AsyncGenerator<string[]> {
  const fullPrefix = redis.keyPrefix + prefix;
  const pattern = `${escapeGlob(fullPrefix)}*`;
  const seen = new Set<string>();
  for (const server of await redis.scanned()) {
    let cursor = "0";
    do {
      const step = await redis.scan(cursor, pattern, count, server);
      cursor = step.cursor;
      const names: string[] = [];
      for (const key of step.keys) {
        if (!key.startsWith(fullPrefix) || seen.has(key)) continue;
        seen.add(key);
        names.push(key.slice(fullPrefix.length));
      }
      if (names.length > 0) yield names;
    } while (cursor !== "0");
  }
}
