// @ts-check
/** `npm run bench:cluster`: the whole Express request on a cluster of three primaries; see README.md in this folder. */
import { execFile } from "node:child_process";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Cluster } from "ioredis";
import { appCpu, startApp } from "./app-process.mjs";
import { startCluster } from "./cluster-servers.mjs";
import { COMPARED, comparison, interleave, QUICK, table } from "./measure.mjs";
import { sampleRecords } from "./sides.mjs";

const SESSIONS = 500;
const ROUNDS = QUICK ? 1 : 7;
const ROUND_MS = QUICK ? 300 : 2_000;

/** @typedef {import("./app-process.mjs").App} App */
/** @typedef {import("./measure.mjs").Load} Load */

const cluster = await startCluster();
try {
  console.log(`Node ${process.version}, 3 primaries, ${cpus().length} × ${cpus()[0]?.model.trim()}\n`);
  if (QUICK) console.log("BENCH_QUICK: these figures mean nothing\n");
  await fill();
  await bench();
} finally {
  cluster.stop();
}

async function bench() {
  const start = (/** @type {string} */ side) => startApp("cluster-app.mjs", [side, cluster.ports.join(",")]);
  const rows = [];
  for (const variant of ["ours", "ours-every-touch"]) {
    const [base, ours] = [await start("base"), await start(variant)];
    for (const connections of [1, 8, 64]) {
      for (const app of [base, ours]) await load(app, connections);
      const rounds = await interleave(
        ROUNDS,
        () => load(base, connections),
        () => load(ours, connections),
      );
      rows.push([variant === "ours" ? "default" : "touchIntervalMs: 0", connections, ...comparison(rounds)]);
    }
    base.child.disconnect();
    ours.child.disconnect();
  }
  table(["settings", "connections", ...COMPARED], rows);
}

/** @param {App} app @param {number} connections @returns {Promise<Load>} */
async function load(app, connections) {
  const [appBefore, redisBefore] = [await appCpu(app), await redisCpu()];
  const script = fileURLToPath(new URL("load.mjs", import.meta.url));
  const args = [script, String(app.port), String(connections), String(ROUND_MS), String(SESSIONS)];
  const result = JSON.parse((await promisify(execFile)(process.execPath, args)).stdout);
  return {
    ...result,
    appCpuUs: ((await appCpu(app)) - appBefore) / result.requests,
    redisCpuUs: ((await redisCpu()) - redisBefore) / result.requests,
  };
}

/** All nodes together. */
async function redisCpu() {
  const infos = await Promise.all(cluster.roots.map((root) => root.info("cpu")));
  const seconds = (/** @type {string} */ info, /** @type {string} */ name) =>
    Number(new RegExp(`^${name}:([0-9.]+)`, "m").exec(info)?.[1]);
  return infos.reduce((sum, info) => sum + (seconds(info, "used_cpu_sys") + seconds(info, "used_cpu_user")) * 1e6, 0);
}

/** Signed-in sessions `s0`, `s1`, … for both sides, one user each. */
async function fill() {
  const client = new Cluster(cluster.ports.map((port) => ({ host: "127.0.0.1", port })));
  for (let n = 0; n < SESSIONS; n += 1) {
    const { theirs, ours, counter } = sampleRecords(n);
    await client.set(...theirs);
    await client.set(...ours);
    await client.set(...counter);
  }
  client.disconnect();
}
