// @ts-check
/** The store alone: read, save, touch; throughput and Redis' CPU, by calls in flight. */
import { Redis } from "ioredis";
import { interleave, median, QUICK, ratio, redisCpuUs, table, throughput, whole } from "./measure.mjs";
import { connectRedisSide, fill, ourSide, read, write } from "./sides.mjs";

const SESSIONS = 500;
const ROUNDS = QUICK ? 2 : 9;
const ROUND_MS = QUICK ? 100 : 500;

/** @param {number} port */
export async function benchStore(port) {
  await fill(port, SESSIONS);
  const base = await connectRedisSide(port);
  const ours = await ourSide(port);
  const oursEvery = await ourSide(port, { touchIntervalMs: 0 });
  const info = new Redis(port, "127.0.0.1");
  const sid = (/** @type {number} */ n) => `s${(n * 37) % SESSIONS}`;

  const operations = {
    read: { inFlight: [1, 10, 50, 200], ours, call: (side) => (n) => read(side, sid(n)) },
    "read and save": {
      inFlight: [1, 10, 50],
      ours,
      call: (side) => async (n) => {
        const session = await read(side, sid(n));
        session.visits += 1;
        await write(side, "set", sid(n), session);
      },
    },
    "touch (touchIntervalMs: 0)": {
      inFlight: [1, 10, 50],
      ours: oursEvery,
      call: (side) => {
        /** @type {Map<string, object>} */
        const loaded = new Map();
        return async (n) => {
          const session = loaded.get(sid(n)) ?? (await read(side, sid(n)));
          loaded.set(sid(n), session);
          await write(side, "touch", sid(n), session);
        };
      },
    },
  };
  const rows = [];
  for (const [name, operation] of Object.entries(operations)) {
    for (const inFlight of operation.inFlight) {
      const measured = async (/** @type {import("./sides.mjs").Side} */ side) => {
        let perSecond = 0;
        const cpuUs = await redisCpuUs(info, async () => {
          perSecond = await throughput(inFlight, ROUND_MS, operation.call(side));
          return (perSecond * ROUND_MS) / 1000;
        });
        return { perSecond, cpuUs };
      };
      await measured(base);
      await measured(operation.ours);
      const rounds = await interleave(
        ROUNDS,
        () => measured(base),
        () => measured(operation.ours),
      );
      const of = (
        /** @type {{ perSecond: number, cpuUs: number }[]} */ side,
        /** @type {"perSecond" | "cpuUs"} */ what,
      ) => median(side.map((round) => round[what]));
      const ratios = rounds.ours.map((round, n) => round.perSecond / rounds.base[n].perSecond);
      rows.push([
        name,
        inFlight,
        whole(of(rounds.base, "perSecond")),
        whole(of(rounds.ours, "perSecond")),
        ratio(median(ratios)),
        ratio(of(rounds.ours, "cpuUs") / of(rounds.base, "cpuUs")),
      ]);
    }
  }
  table(["operation", "in flight", "connect-redis /s", "ours /s", "ratio", "Redis CPU, ours / theirs"], rows);
  await Promise.all([base.close(), ours.close(), oursEvery.close()]);
  info.disconnect();
}
