// @ts-check
/** What submit tokens, idempotency keys and logins add to a request, beside one plain Redis round trip. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { sign } from "cookie-signature";
import { Redis } from "ioredis";
import { appCpu, startApp } from "./app-process.mjs";
import { interleave, median, QUICK, ratio, redisCpuUs, table, whole } from "./measure.mjs";
import { fill } from "./sides.mjs";

const SESSIONS = 500;
const ROUNDS = QUICK ? 1 : 7;
const REQUESTS = QUICK ? 200 : 4_000;
const CONNECTIONS = [1, 16];

/** @typedef {import("./app-process.mjs").App} App */
/** @typedef {{ perSecond: number, p50: number, p99: number, appCpuUs: number, redisCpuUs: number, bodies: string[] }} Load */

/** @param {number} redisPort */
export async function benchGuards(redisPort) {
  await fill(redisPort, SESSIONS);
  const info = new Redis(redisPort, "127.0.0.1");
  const app = await startApp("guards-app.mjs", ["ours", String(redisPort)]);
  let keys = 0;
  const kinds = {
    "no Redis at all": { requests: async () => list((n) => request("GET", "/nothing", n)) },
    "one PING": { requests: async () => list((n) => request("GET", "/ping", n)) },
    "a session read": { requests: async () => list((n) => request("POST", "/session", n)) },
    "submit token, issue": { requests: async () => list((n) => request("GET", "/issue", n)) },
    "submit token, spend": {
      requests: async () => {
        const issued = await load(app, 16, await list((n) => request("GET", "/issue", n)), info);
        return issued.bodies.map((body, n) =>
          request("POST", "/spend", n, [`X-Submit-Token: ${JSON.parse(body).token}`]),
        );
      },
    },
    "idempotency key, first": {
      status: 201,
      requests: async () => {
        keys += REQUESTS;
        return list((n) => request("POST", "/idempotent", n, [`Idempotency-Key: key-${keys + n}`], "{}"));
      },
    },
    "idempotency key, replay": {
      status: 201,
      requests: async () =>
        list((n) => request("POST", "/idempotent", n % 200, [`Idempotency-Key: key-${n % 200}`], "{}")),
    },
  };
  await load(
    app,
    1,
    await list((n) => request("POST", "/idempotent", n % 200, [`Idempotency-Key: key-${n % 200}`], "{}")),
    info,
    201,
  );
  const rows = [];
  for (const connections of CONNECTIONS) {
    /** @type {Record<string, Load[]>} */
    const rounds = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, []]));
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [kind, { requests, status = 200 }] of Object.entries(kinds)) {
        rounds[kind].push(await load(app, connections, await requests(), info, status));
      }
    }
    for (const [kind, all] of Object.entries(rounds)) rows.push([kind, connections, ...summary(all)]);
  }
  app.child.disconnect();
  info.disconnect();
  table(["request with", "connections", "requests/s", "p50 ms", "p99 ms", "app CPU µs", "Redis CPU µs"], rows);
}

/** @param {number} redisPort */
export async function benchLogin(redisPort) {
  const info = new Redis(redisPort, "127.0.0.1");
  const base = await startApp("guards-app.mjs", ["base", String(redisPort)]);
  const ours = await startApp("guards-app.mjs", ["ours", String(redisPort)]);
  const rows = [];
  for (const connections of CONNECTIONS) {
    const logins = await list((n) => request("POST", "/login", undefined, [`X-User: user-${n % SESSIONS}`]));
    for (const app of [base, ours]) await load(app, connections, logins, info);
    const rounds = await interleave(
      ROUNDS,
      () => load(base, connections, logins, info),
      () => load(ours, connections, logins, info),
    );
    const ratios = rounds.ours.map((round, n) => round.perSecond / rounds.base[n].perSecond);
    const [theirsPerSecond = ""] = summary(rounds.base);
    const [oursPerSecond = ""] = summary(rounds.ours);
    const cpu = (/** @type {"appCpuUs" | "redisCpuUs"} */ what) =>
      ratio(median(rounds.ours.map((one) => one[what])) / median(rounds.base.map((one) => one[what])));
    rows.push([connections, theirsPerSecond, oursPerSecond, ratio(median(ratios)), cpu("appCpuUs"), cpu("redisCpuUs")]);
  }
  base.child.disconnect();
  ours.child.disconnect();
  info.disconnect();
  table(
    ["connections", "connect-redis logins/s", "ours /s", "ratio", "app CPU, ours / theirs", "Redis CPU, ours / theirs"],
    rows,
  );
}

/** @param {Load[]} rounds */
function summary(rounds) {
  const of = (/** @type {"perSecond" | "p50" | "p99" | "appCpuUs" | "redisCpuUs"} */ what) =>
    median(rounds.map((round) => round[what]));
  return [
    whole(of("perSecond")),
    of("p50").toFixed(2),
    of("p99").toFixed(2),
    whole(of("appCpuUs")),
    whole(of("redisCpuUs")),
  ];
}

/** @param {(n: number) => string} request */
async function list(request) {
  return Array.from({ length: REQUESTS }, (_, n) => request(n));
}

/** @param {string} method @param {string} path @param {number | undefined} session @param {string[]} [headers] @param {string} [body] */
function request(method, path, session, headers = [], body = "") {
  const cookie =
    session === undefined
      ? []
      : [`Cookie: connect.sid=${encodeURIComponent(`s:${sign(`s${session % SESSIONS}`, "benchmark")}`)}`];
  const type = body === "" ? [] : ["Content-Type: application/json"];
  const length = method === "GET" ? [] : [`Content-Length: ${body.length}`];
  return `${[`${method} ${path} HTTP/1.1`, "Host: localhost", ...cookie, ...headers, ...type, ...length].join("\r\n")}\r\n\r\n${body}`;
}

/** @param {App} app @param {number} connections @param {string[]} requests @param {Redis} info @param {number} [status] @returns {Promise<Load>} */
async function load(app, connections, requests, info, status = 200) {
  const cpuBefore = await appCpu(app);
  /** @type {any} */
  let result;
  const redisUs = await redisCpuUs(info, async () => {
    const child = fork(fileURLToPath(new URL("guards-load.mjs", import.meta.url)));
    child.send({ port: app.port, connections, requests, status });
    const ended = once(child, "exit").then(() => Promise.reject(new Error("the load failed")));
    [result] = await Promise.race([once(child, "message"), ended]);
    ended.catch(() => undefined);
    return requests.length;
  });
  const appCpuUs = ((await appCpu(app)) - cpuBefore) / requests.length;
  return { ...result, perSecond: requests.length / result.seconds, appCpuUs, redisCpuUs: redisUs };
}
