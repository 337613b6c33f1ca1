// @ts-check
/** Bytes per session: what Redis itself says of the same sessions, written by each side through express-session's contract. */
import { Redis } from "ioredis";
import { QUICK, ratio, table } from "./measure.mjs";
import { connectRedisSide, fill, sampleCookie, sampleData, write } from "./sides.mjs";

const SESSIONS = QUICK ? 2_000 : 100_000;

/** @param {number} port */
export async function benchMemory(port) {
  const client = new Redis(port, "127.0.0.1");
  await client.flushall();
  await fill(port, SESSIONS);
  // One more as connect-redis writes it itself, to be sure that what fill() wrote for it is no larger.
  const base = await connectRedisSide(port);
  await write(base, "set", "s0", { cookie: sampleCookie(), ...sampleData(0), userId: "user-0" });
  await base.close();
  const theirs = await usage(client, "sess:s");
  const ours = await usage(client, "session:s");
  const counters = await usage(client, "user_login_age:user-");
  client.disconnect();
  table(
    [
      "sessions",
      "connect-redis, bytes",
      "ours, bytes",
      "ours / theirs",
      "counter, bytes",
      "with one counter a session",
    ],
    [
      [
        SESSIONS,
        theirs.toFixed(0),
        ours.toFixed(0),
        ratio(ours / theirs),
        counters.toFixed(0),
        ratio((ours + counters) / theirs),
      ],
    ],
  );
}

/** @param {Redis} client @param {string} prefix */
async function usage(client, prefix) {
  let bytes = 0;
  for (let start = 0; start < SESSIONS; start += 1_000) {
    const pipeline = client.pipeline();
    for (let n = start; n < start + 1_000; n += 1) pipeline.memory("USAGE", `${prefix}${n}`);
    for (const [error, size] of (await pipeline.exec()) ?? []) {
      if (error !== null) throw error;
      bytes += Number(size);
    }
  }
  return bytes / SESSIONS;
}
