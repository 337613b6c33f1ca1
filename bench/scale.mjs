// @ts-check
/** What grows with users and what does not: one server filled with more and more of them. See docs/scaling.md. */
import { Redis } from "ioredis";
import { GenerationStore } from "logout-everywhere";
import { median, QUICK, redisCpuUs, table, throughput, whole } from "./measure.mjs";
import { fill, ourSide, read } from "./sides.mjs";

const USERS = QUICK ? [1_000, 2_000] : [10_000, 100_000, 1_000_000];
const ROUNDS = QUICK ? 1 : 5;
const ROUND_MS = QUICK ? 100 : 1_000;
const IN_FLIGHT = 100;
const LOGGED_OUT = QUICK ? 1_000 : 100_000;

/** @param {number} port */
export async function benchScale(port) {
  const client = new Redis(port, "127.0.0.1");
  const rows = [];
  for (const users of USERS) {
    await client.flushall();
    const emptyBytes = await usedMemory(client);
    await fill(port, users, { theirs: false });
    const bytes = (await usedMemory(client)) - emptyBytes;
    const known = await reads(port, client, users, (n) => n % 500);
    const any = await reads(port, client, users, () => Math.floor(Math.random() * users));
    rows.push([
      whole(users),
      whole(bytes / users),
      whole(known.perSecond),
      known.cpuUs.toFixed(1),
      whole(any.perSecond),
      any.cpuUs.toFixed(1),
    ]);
  }
  table(
    [
      "users with one session each",
      "memory per user, bytes",
      "reads/s of 500 sessions",
      "Redis CPU µs",
      "reads/s of any session",
      "Redis CPU µs",
    ],
    rows,
  );
  await massLogout(client);
  client.disconnect();
}

/** @param {number} port @param {Redis} info @param {number} users @param {(n: number) => number} which */
async function reads(port, info, users, which) {
  const side = await ourSide(port);
  const rounds = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    let perSecond = 0;
    const cpuUs = await redisCpuUs(info, async () => {
      perSecond = await throughput(IN_FLIGHT, ROUND_MS, (n) => read(side, `s${which(n) % users}`));
      return (perSecond * ROUND_MS) / 1_000;
    });
    rounds.push({ perSecond, cpuUs });
  }
  await side.close();
  return {
    perSecond: median(rounds.map(({ perSecond }) => perSecond)),
    cpuUs: median(rounds.map(({ cpuUs }) => cpuUs)),
  };
}

/** Everybody out at once, each user by a call of their own, from one process. @param {Redis} client */
async function massLogout(client) {
  const store = new GenerationStore({ client });
  let seconds = 0;
  const cpuUs = await redisCpuUs(client, async () => {
    const startMs = performance.now();
    let next = 0;
    await Promise.all(
      Array.from({ length: IN_FLIGHT }, async () => {
        while (next < LOGGED_OUT) {
          next += 1;
          await store.logoutEverywhere(`user-${next}`);
        }
      }),
    );
    seconds = (performance.now() - startMs) / 1_000;
    return LOGGED_OUT;
  });
  await store.close();
  table(
    ["users logged out", `seconds, ${IN_FLIGHT} in flight`, "users/s", "Redis CPU µs a user"],
    [[whole(LOGGED_OUT), seconds.toFixed(1), whole(LOGGED_OUT / seconds), cpuUs.toFixed(1)]],
  );
}

/** @param {Redis} client */
async function usedMemory(client) {
  return Number(/^used_memory:(\d+)/m.exec(await client.info("memory"))?.[1]);
}
