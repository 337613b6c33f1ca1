// @ts-check
/** The whole Express request: application, load and Redis in three processes. */
import { execFile, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import { interleave, median, QUICK, ratio, redisCpuUs, table, whole } from "./measure.mjs";
import { fill } from "./sides.mjs";

const SESSIONS = 500;
const ROUNDS = QUICK ? 1 : 7;
const ROUND_MS = QUICK ? 300 : 2_000;

/** @typedef {{ requests: number, seconds: number, p50: number, p99: number, appCpuUs: number, redisCpuUs: number, batch: number }} Load */

/** @param {number} redisPort */
export async function benchExpress(redisPort) {
  await fill(redisPort, SESSIONS);
  const info = new Redis(redisPort, "127.0.0.1");
  const rows = [];
  for (const variant of ["ours", "ours-every-touch"]) {
    const base = await startApp("base", redisPort);
    const ours = await startApp(variant, redisPort);
    for (const connections of [1, 8, 64]) {
      for (const app of [base, ours]) await load(app, connections, info);
      const rounds = await interleave(
        ROUNDS,
        () => load(base, connections, info),
        () => load(ours, connections, info),
      );
      const of = (/** @type {Load[]} */ side, /** @type {(round: Load) => number} */ what) => median(side.map(what));
      const perSecond = (/** @type {Load} */ { requests, seconds }) => requests / seconds;
      const ratios = rounds.ours.map((round, n) => perSecond(round) / perSecond(rounds.base[n]));
      rows.push([
        variant === "ours" ? "default" : "touchIntervalMs: 0",
        connections,
        whole(of(rounds.base, perSecond)),
        whole(of(rounds.ours, perSecond)),
        ratio(median(ratios)),
        `${of(rounds.base, ({ p50 }) => p50).toFixed(2)} / ${of(rounds.ours, ({ p50 }) => p50).toFixed(2)}`,
        `${of(rounds.base, ({ p99 }) => p99).toFixed(2)} / ${of(rounds.ours, ({ p99 }) => p99).toFixed(2)}`,
        ratio(of(rounds.ours, ({ appCpuUs }) => appCpuUs) / of(rounds.base, ({ appCpuUs }) => appCpuUs)),
        ratio(of(rounds.ours, (round) => round.redisCpuUs) / of(rounds.base, (round) => round.redisCpuUs)),
        of(rounds.ours, ({ batch }) => batch).toFixed(1),
      ]);
    }
    base.child.disconnect();
    ours.child.disconnect();
  }
  info.disconnect();
  table(
    [
      "settings",
      "connections",
      "connect-redis req/s",
      "ours req/s",
      "ratio",
      "p50 ms, theirs / ours",
      "p99 ms, theirs / ours",
      "app CPU, ours / theirs",
      "Redis CPU, ours / theirs",
      "requests per MGET",
    ],
    rows,
  );
}

/** @param {string} side @param {number} redisPort */
async function startApp(side, redisPort) {
  const child = fork(fileURLToPath(new URL("app.mjs", import.meta.url)), [side, String(redisPort)], {
    env: { ...process.env, NODE_ENV: "production" },
  });
  const [{ port }] = await once(child, "message");
  return { child, port };
}

/** @param {{ child: import("node:child_process").ChildProcess, port: number }} app @param {number} connections @param {Redis} info @returns {Promise<Load>} */
async function load(app, connections, info) {
  const cpuBefore = await appCpu(app.child);
  const readsBefore = await commandCalls(info, "mget");
  /** @type {any} */
  let result;
  const redisUs = await redisCpuUs(info, async () => {
    const script = fileURLToPath(new URL("load.mjs", import.meta.url));
    const args = [script, String(app.port), String(connections), String(ROUND_MS), String(SESSIONS)];
    result = JSON.parse((await promisify(execFile)(process.execPath, args)).stdout);
    return result.requests;
  });
  const mgets = (await commandCalls(info, "mget")) - readsBefore;
  const appCpuUs = ((await appCpu(app.child)) - cpuBefore) / result.requests;
  return { ...result, appCpuUs, redisCpuUs: redisUs, batch: mgets === 0 ? 0 : result.requests / mgets };
}

/** @param {import("node:child_process").ChildProcess} child */
async function appCpu(child) {
  child.send("cpu");
  const [{ cpuUs }] = await once(child, "message");
  return cpuUs;
}

/** @param {Redis} info @param {string} command */
async function commandCalls(info, command) {
  const stats = await info.info("commandstats");
  return Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, "m").exec(stats)?.[1] ?? 0);
}
