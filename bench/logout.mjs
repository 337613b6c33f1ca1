// @ts-check
/** Log out everywhere, beside what people do today: scan and parse all sessions, or keep a set of session IDs per user. */
import { Redis } from "ioredis";
import { GenerationStore } from "logout-everywhere";
import { median, QUICK, table, whole } from "./measure.mjs";

const GENERATION = "1796077988663367";
const SIZES = QUICK
  ? [[10, 1_000]]
  : [
      [10, 10_000],
      [1_000, 100_000],
      [100_000, 1_000_000],
    ];

/** @param {number} port */
export async function benchLogout(port) {
  const client = new Redis(port, "127.0.0.1");
  const store = new GenerationStore({ client, commandTimeoutMs: 60_000 });
  const rows = [];
  for (const [ofUser = 0, sessions = 0] of SIZES) {
    await fillOurs(client, ofUser, sessions);
    const ours = await timed(
      QUICK ? 3 : 21,
      async () => {
        await client.set("user_login_age:victim", GENERATION);
      },
      () => store.logoutEverywhere("victim"),
    );
    await client.flushall();
    const set = await timed(
      QUICK ? 1 : 3,
      () => fillSet(client, ofUser),
      () => logOutBySet(client),
    );
    await client.flushall();
    await fillJson(client, ofUser, sessions);
    const scan = await timed(
      1,
      async () => undefined,
      () => logOutByScan(client),
    );
    await client.flushall();
    rows.push([whole(ofUser), whole(sessions), ours.toFixed(2), set.toFixed(2), scan.toFixed(0), whole(scan / ours)]);
  }
  await store.close();
  client.disconnect();
  table(
    ["sessions of the user", "sessions in all", "ours, ms", "per-user set, ms", "SCAN and parse, ms", "SCAN / ours"],
    rows,
  );
}

/** @param {number} rounds @param {() => Promise<unknown>} prepare @param {() => Promise<unknown>} work */
async function timed(rounds, prepare, work) {
  const times = [];
  for (let round = 0; round < rounds; round += 1) {
    await prepare();
    const startMs = performance.now();
    await work();
    times.push(performance.now() - startMs);
  }
  return median(times);
}

/** @param {Redis} client @param {number} ofUser @param {number} sessions */
async function fillOurs(client, ofUser, sessions) {
  for (let start = 0; start < sessions; start += 5_000) {
    const pipeline = client.pipeline();
    for (let n = start; n < Math.min(start + 5_000, sessions); n += 1) {
      const userId = n < ofUser ? "victim" : `user-${n}`;
      const payload = JSON.stringify({ cookie: { originalMaxAge: 3_600_000 }, cart: [n] });
      pipeline.set(`session:s${n}`, `${userId},${GENERATION},at=1796077987953,${payload}`, "PX", 3_660_000);
      pipeline.set(`user_login_age:${userId}`, GENERATION);
    }
    await pipeline.exec();
  }
}

/** @param {Redis} client @param {number} ofUser @param {number} sessions */
async function fillJson(client, ofUser, sessions) {
  for (let start = 0; start < sessions; start += 5_000) {
    const pipeline = client.pipeline();
    for (let n = start; n < Math.min(start + 5_000, sessions); n += 1) {
      const userId = n < ofUser ? "victim" : `user-${n}`;
      pipeline.set(
        `sess:s${n}`,
        JSON.stringify({ cookie: { originalMaxAge: 3_600_000 }, userId, cart: [n] }),
        "EX",
        3_600,
      );
    }
    await pipeline.exec();
  }
}

/** @param {Redis} client @param {number} ofUser */
async function fillSet(client, ofUser) {
  await fillJson(client, ofUser, ofUser);
  for (let start = 0; start < ofUser; start += 5_000) {
    const ids = Array.from({ length: Math.min(5_000, ofUser - start) }, (_, n) => `s${start + n}`);
    await client.sadd("sessions-of:victim", ...ids);
  }
}

/** @param {Redis} client */
async function logOutBySet(client) {
  const ids = await client.smembers("sessions-of:victim");
  for (let start = 0; start < ids.length; start += 1_000) {
    await client.unlink(ids.slice(start, start + 1_000).map((id) => `sess:${id}`));
  }
  await client.del("sessions-of:victim");
}

/** @param {Redis} client */
async function logOutByScan(client) {
  let cursor = "0";
  do {
    const [next, keys] = await client.scan(cursor, "MATCH", "sess:*", "COUNT", 1_000);
    cursor = next;
    if (keys.length === 0) continue;
    const values = await client.mget(keys);
    const doomed = keys.filter((_, n) => JSON.parse(values[n] ?? "{}").userId === "victim");
    if (doomed.length > 0) await client.unlink(doomed);
  } while (cursor !== "0");
}
