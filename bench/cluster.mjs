// @ts-check
/** `npm run bench:cluster`: the whole Express request on a cluster of three primaries; see README.md in this folder. */
import { execFile, fork } from "node:child_process";
import { once } from "node:events";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Cluster } from "ioredis";
import { startCluster } from "./cluster-servers.mjs";
import { interleave, median, QUICK, ratio, table, whole } from "./measure.mjs";
import { sampleCookie, sampleData } from "./sides.mjs";

const SESSIONS = 500;
const ROUNDS = QUICK ? 1 : 7;
const ROUND_MS = QUICK ? 300 : 2_000;

/** @typedef {{ child: import("node:child_process").ChildProcess, port: number }} App */
/** @typedef {{ requests: number, seconds: number, p50: number, p99: number, appCpuUs: number, redisCpuUs: number }} Load */

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
  const rows = [];
  for (const variant of ["ours", "ours-every-touch"]) {
    const [base, ours] = [await startApp("base"), await startApp(variant)];
    for (const connections of [1, 8, 64]) {
      for (const app of [base, ours]) await load(app, connections);
      const rounds = await interleave(
        ROUNDS,
        () => load(base, connections),
        () => load(ours, connections),
      );
      rows.push([variant === "ours" ? "default" : "touchIntervalMs: 0", connections, ...figures(rounds)]);
    }
    base.child.disconnect();
    ours.child.disconnect();
  }
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
    ],
    rows,
  );
}

/** @param {{ base: Load[], ours: Load[] }} rounds */
function figures({ base, ours }) {
  const of = (/** @type {Load[]} */ side, /** @type {(round: Load) => number} */ what) => median(side.map(what));
  const perSecond = (/** @type {Load} */ { requests, seconds }) => requests / seconds;
  const both = (/** @type {(round: Load) => number} */ what) =>
    `${of(base, what).toFixed(2)} / ${of(ours, what).toFixed(2)}`;
  return [
    whole(of(base, perSecond)),
    whole(of(ours, perSecond)),
    ratio(median(ours.map((round, n) => perSecond(round) / perSecond(base[n])))),
    both(({ p50 }) => p50),
    both(({ p99 }) => p99),
    ratio(of(ours, ({ appCpuUs }) => appCpuUs) / of(base, ({ appCpuUs }) => appCpuUs)),
    ratio(of(ours, (round) => round.redisCpuUs) / of(base, (round) => round.redisCpuUs)),
  ];
}

/** @param {string} side @returns {Promise<App>} */
async function startApp(side) {
  const script = fileURLToPath(new URL("cluster-app.mjs", import.meta.url));
  const child = fork(script, [side, cluster.ports.join(",")], { env: { ...process.env, NODE_ENV: "production" } });
  const [{ port }] = await once(child, "message");
  return { child, port };
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

/** @param {App} app */
async function appCpu({ child }) {
  child.send("cpu");
  const [{ cpuUs }] = await once(child, "message");
  return cpuUs;
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
  const generation = "1796077988663367";
  for (let n = 0; n < SESSIONS; n += 1) {
    const cookie = sampleCookie();
    const theirs = {
      cookie: { ...cookie, expires: cookie.expires.toISOString() },
      ...sampleData(n),
      userId: `user-${n}`,
    };
    const ours = { cookie: { originalMaxAge: cookie.originalMaxAge }, ...sampleData(n) };
    const head = `user-${n},${generation},at=1796077987953;n=${String(n).padStart(12, "A")},`;
    await client.set(`sess:s${n}`, JSON.stringify(theirs), "EX", 3_600);
    await client.set(`session:s${n}`, head + JSON.stringify(ours), "PX", 3_660_000);
    await client.set(`user_login_age:user-${n}`, generation);
  }
  client.disconnect();
}
