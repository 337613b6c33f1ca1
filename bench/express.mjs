// @ts-check
/** The whole Express request: application, load and Redis in three processes. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import { appCpu, startApp } from "./app-process.mjs";
import { COMPARED, comparison, interleave, median, QUICK, redisCpuUs, table } from "./measure.mjs";
import { fill } from "./sides.mjs";

const SESSIONS = 500;
const ROUNDS = QUICK ? 1 : 7;
const ROUND_MS = QUICK ? 300 : 2_000;

/** @typedef {import("./measure.mjs").Load & { batch: number }} Load */

/** @param {number} redisPort */
export async function benchExpress(redisPort) {
  await fill(redisPort, SESSIONS);
  const info = new Redis(redisPort, "127.0.0.1");
  const rows = [];
  for (const variant of ["ours", "ours-every-touch"]) {
    const base = await startApp("app.mjs", ["base", String(redisPort)]);
    const ours = await startApp("app.mjs", [variant, String(redisPort)]);
    for (const connections of [1, 8, 64]) {
      for (const app of [base, ours]) await load(app, connections, info);
      const rounds = await interleave(
        ROUNDS,
        () => load(base, connections, info),
        () => load(ours, connections, info),
      );
      const batch = median(rounds.ours.map((round) => round.batch)).toFixed(1);
      rows.push([variant === "ours" ? "default" : "touchIntervalMs: 0", connections, ...comparison(rounds), batch]);
    }
    base.child.disconnect();
    ours.child.disconnect();
  }
  info.disconnect();
  table(["settings", "connections", ...COMPARED, "requests per MGET"], rows);
}

/** @param {import("./app-process.mjs").App} app @param {number} connections @param {Redis} info @returns {Promise<Load>} */
async function load(app, connections, info) {
  const cpuBefore = await appCpu(app);
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
  const appCpuUs = ((await appCpu(app)) - cpuBefore) / result.requests;
  return { ...result, appCpuUs, redisCpuUs: redisUs, batch: mgets === 0 ? 0 : result.requests / mgets };
}

/** @param {Redis} info @param {string} command */
async function commandCalls(info, command) {
  const stats = await info.info("commandstats");
  return Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, "m").exec(stats)?.[1] ?? 0);
}
