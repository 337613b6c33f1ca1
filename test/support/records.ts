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
  const records: RecordInRedis[] = [];
  for (const key of keys) {
    const text = await client.get(key);
    if (text === null || text.startsWith("~taken:")) continue;
    const [user = "", generation = ""] = text.split(",");
    const counter = user === "" ? null : await client.get(`user_login_age:${user}`);
    records.push({ sid: key.slice("session:".length), user, generation, isLive: counter === generation, text });
  }
  return records;
}

/** The session IDs under which this (encoded) user is logged in. */
export async function liveSidsOf(client: Redis, user: string): Promise<string[]> {
  const records = await recordsIn(client);
  return records.filter((record) => record.user === user && record.isLive).map(({ sid }) => sid);
}

/** Waits until a condition holds that a background command is about to bring about. */
export async function eventually(condition: () => Promise<boolean>, withinMs = 2_000): Promise<boolean> {
  const endsAtMs = performance.now() + withinMs;
  while (performance.now() < endsAtMs) {
    if (await condition()) return true;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return condition();
}
