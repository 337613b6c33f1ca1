import type { Redis } from "ioredis";

/** A record as it lies in Redis, read without the library's own code. */
export interface RecordInRedis {
  readonly sid: string;
  /** The encoded user; "" for an anonymous session. */
  readonly user: string;
  readonly generation: string;
  /** Names a user whose counter has this very generation. */
  readonly isLive: boolean;
  readonly text: string;
}

/** All records under session keys. */
export async function recordsIn(client: Redis): Promise<RecordInRedis[]> {
  const keys = await client.keys("session:*");
  const texts = keys.length === 0 ? [] : await client.mget(keys);
  const users = [...new Set(texts.map((text) => userOfRecord(text)))].filter((user) => user !== "");
  const counters = users.length === 0 ? [] : await client.mget(users.map((user) => `user_login_age:${user}`));
  const counterOf = new Map(users.map((user, index) => [user, counters[index]]));
  return keys.flatMap((key, index) => {
    const text = texts[index] ?? null;
    if (text === null || text.startsWith("~taken:")) return [];
    const [user = "", generation = ""] = text.split(",");
    const isLive = user !== "" && counterOf.get(user) === generation;
    return [{ sid: key.slice("session:".length), user, generation, isLive, text }];
  });
}

function userOfRecord(text: string | null): string {
  return text?.split(",")[0] ?? "";
}

/** The session IDs under which this (encoded) user is logged in. */
export async function liveSidsOf(client: Redis, user: string): Promise<string[]> {
  const records = await recordsIn(client);
  return records.filter((record) => record.user === user && record.isLive).map(({ sid }) => sid);
}

/** Waits until a condition holds that a background command is about to bring about. */
export async function eventually(condition: () => Promise<boolean>, withinMs = 5_000): Promise<boolean> {
  const endsAtMs = performance.now() + withinMs;
  while (performance.now() < endsAtMs) {
    if (await condition()) return true;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return condition();
}
