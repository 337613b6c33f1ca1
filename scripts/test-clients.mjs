/**
 * Runs the integration tests again on the clients that `npm test` does not cover; all of them, or those named:
 * `npm run test:clients -- ioredis6 mock`. With `--faults`, the tests under faults instead; with `--decisive-faults`, which
 * .ci/run adds, all but the slowest. With TEST_REPORTS set, writes a JSON report per client into that folder.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

/** The example application and the histories bring their own clients. */
const ALL = ["test/integration", "--exclude=test/integration/example-app*", "--exclude=test/integration/history*"];

/** What vitest is to run on each client. */
const CLIENTS = {
  ioredis6: ALL,
  "ioredis6-resp2": ALL,
  // The same protocol as ioredis6; only how the client hands replies over differs.
  "ioredis6-resp3-mapping": ["requirements", "contract", "odd-records", "lost-replies", "redis-keys", "readme"].map(
    (name) => `test/integration/${name}`,
  ),
  // No server and no faults: what breaks connections, compares Redis' own counters or stores other types cannot run on it.
  mock: ["requirements", "contract", "logout-others-headers", "submit-tokens"].map(
    (name) => `test/integration/${name}.test.ts`,
  ),
};

/** The default client runs them in `npm run test:faults`; the mock has no server that could fail. */
const FAULTS = {
  "--faults": ["test/integration/faults-"],
  "--decisive-faults": ["deadlines", "demotion", "journal", "memory", "replicas", "replies", "scripts"].map(
    (name) => `test/integration/faults-${name}.test.ts`,
  ),
};
const FAULT_CLIENTS = ["ioredis6", "ioredis6-resp2", "ioredis6-resp3-mapping"];

const args = process.argv.slice(2);
const faults = Object.keys(FAULTS).find((option) => args.includes(option));
const named = args.filter((arg) => arg !== faults);
const known = faults === undefined ? Object.keys(CLIENTS) : FAULT_CLIENTS;
const unknown = named.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`Unknown client ${unknown.join(", ")}; known are ${known.join(", ")}`);
  process.exit(2);
}
const failed = (named.length > 0 ? named : known).filter((client) => !run(client));
if (failed.length > 0) {
  console.error(`Failed on ${failed.join(", ")}`);
  process.exitCode = 1;
}

function run(client) {
  console.log(`\n${faults === undefined ? "Integration tests" : "Tests under faults"} on ${client}`);
  const config = faults === undefined ? "test/vitest.config.ts" : "test/vitest.faults.config.ts";
  const files = faults === undefined ? CLIENTS[client] : FAULTS[faults];
  const command = ["node_modules/vitest/vitest.mjs", "run", "--config", config, ...reporters(client), ...files];
  const { status } = spawnSync(process.execPath, command, {
    stdio: "inherit",
    // Every random round once is enough: the races are the store's, not the reply format's.
    env: { ...process.env, CLIENT: client, THOROUGH: client === "ioredis6" ? "1" : "" },
  });
  return status === 0;
}

function reporters(client) {
  const folder = process.env.TEST_REPORTS;
  if (folder === undefined) return [];
  return [
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${join(folder, `${client}${faults ?? ""}.json`)}`,
  ];
}
