/**
 * Mutation tests: `npm run mutation` for everything, part by part; `npm run mutation -- login` for some parts, or
 * `npm run mutation -- --mutate src/session/record.ts` for one file. Other arguments go to `stryker run`.
 *
 * The Redis server is started here and not by the test runner: Stryker kills a runner whose mutant hangs, and its server
 * would be left behind.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { runnerImport } from "vite";

const session = (...names) => names.map((name) => `src/session/${name}.ts`);

/** What is mutated together, and the tests that decide, the quickest first: the first failure ends a mutant's run. */
const PARTS = {
  codec: {
    mutate: session("record", "user-id", "payload", "stored-cookie"),
    tests: ["unit/record", "unit/user-id", "unit/payload", "unit/stored-cookie"],
    // Regular expressions and tables are the codec, and its tests are quick enough to run all of them for each.
    static: true,
  },
  reading: {
    mutate: session("reader", "cluster-reader", "read-outcome", "session-loader", "recent-sessions", "own-copy"),
    tests: ["unit/reader", "unit/cluster-reader", "unit/recent-sessions", "unit/session-loader"],
  },
  login: {
    mutate: session(
      "login-attempt",
      "login-flow",
      "generations",
      "logout",
      "stamping",
      "current-login",
      "require-login",
    ),
    tests: [
      "unit/login-attempt",
      "unit/require-login",
      "unit/current-login",
      "unit/stamping",
      "unit/generations",
      "unit/logout",
      "unit/login-flow",
    ],
  },
  writing: {
    mutate: session("session-exchange", "logout-journal", "toucher"),
    tests: ["unit/session-exchange", "unit/logout-journal", "unit/toucher"],
  },
  saving: {
    mutate: session("session-writer", "record-saver", "cookie-replacer"),
    tests: ["unit/record-saver", "unit/session-writer-save", "unit/session-writer-touch"],
  },
  state: {
    mutate: session(
      "lifetime",
      "lifetime-plan",
      "data-user",
      "deliver",
      "foreign-data",
      "in-order",
      "json-guard",
      "mount-generate",
      "request-state",
      "retired-sessions",
      "session-binding",
      "session-request",
    ),
    tests: [
      "unit/lifetimes",
      "unit/session-state",
      "unit/foreign-data",
      "unit/session-writer-touch",
      "unit/session-writer-save",
    ],
  },
  redis: {
    mutate: ["src/redis/**/*.ts"],
    tests: [
      "unit/gathering",
      "unit/moment",
      "unit/key-slot",
      "unit/primary-check",
      "unit/cluster-commands",
      "unit/redis-failure",
      "unit/redis-readiness",
      "unit/redis-connection",
      "unit/redis-scripts",
      "unit/replicated-connection",
      "unit/replicated-connection-ends",
      "unit/retry-later",
    ],
  },
};
PARTS.rest = {
  mutate: ["src/session/**/*.ts", ...Object.values(PARTS).flatMap(({ mutate }) => mutate.map((glob) => `!${glob}`))],
  tests: [
    "integration/contract-read-request",
    "integration/contract",
    "integration/contract-plain-data",
    "integration/contract-listing",
    "integration/contract-login",
  ],
};

const args = process.argv.slice(2);
const named = args.filter((arg) => Object.hasOwn(PARTS, arg));
const passedOn = args.filter((arg) => !named.includes(arg));
const { module } = await runnerImport("test/support/redis-server.ts", { configFile: false, logLevel: "error" });
const server = await module.startRedis();
try {
  for (const name of named.length > 0 ? named : partsOf(passedOn)) await run(name);
} finally {
  await server.dispose();
}

/** The part that a file asked for belongs to; without one, all. */
function partsOf(options) {
  const file = options[options.findIndex((option) => option === "--mutate" || option === "-m") + 1];
  if (!options.some((option) => option === "--mutate" || option === "-m")) return Object.keys(PARTS);
  const part = Object.keys(PARTS).find((name) =>
    PARTS[name].mutate.some((glob) => file?.startsWith(glob.split("**")[0])),
  );
  return [part ?? "rest"];
}

async function run(name) {
  const part = PARTS[name];
  const mutate = passedOn.some((option) => option === "--mutate" || option === "-m")
    ? []
    : ["--mutate", part.mutate.join()];
  const stryker = spawn(
    process.execPath,
    ["node_modules/@stryker-mutator/core/bin/stryker.js", "run", ...mutate, ...passedOn],
    {
      stdio: "inherit",
      env: {
        ...process.env,
        MUTATION_PART: name,
        MUTATION_TESTS: part.tests.join(),
        MUTATION_STATIC: part.static ? "1" : "",
        MUTATION_REDIS_PORT: String(server.port),
      },
    },
  );
  const end = (signal) => stryker.kill(signal);
  // A Ctrl-C reaches Stryker as well; this process stays until it has ended, to end the server after it.
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, end);
  const [code, signal] = await once(stryker, "exit");
  for (const one of ["SIGINT", "SIGTERM"]) process.off(one, end);
  if (code !== 0) throw new Error(`Mutation tests of ${name} ended with ${code ?? signal}`);
}
