// @ts-check
/** `npm run bench [-- part …]`: see README.md in this folder. */
import { cpus } from "node:os";
import { benchExpress } from "./express.mjs";
import { benchGuards, benchLogin } from "./guards.mjs";
import { benchLogout } from "./logout.mjs";
import { QUICK } from "./measure.mjs";
import { benchMemory } from "./memory.mjs";
import { startRedis } from "./redis.mjs";
import { benchScale } from "./scale.mjs";
import { benchStore } from "./store.mjs";

const PARTS = {
  store: { title: "The store alone", run: benchStore },
  express: { title: "The whole Express request", run: benchExpress },
  memory: { title: "Bytes per session", run: benchMemory },
  login: { title: "Logins, the whole Express request", run: benchLogin },
  guards: { title: "Submit tokens and idempotency keys, the whole Express request", run: benchGuards },
  logout: { title: "Log out everywhere", run: benchLogout },
  scale: { title: "More and more users", run: benchScale },
};

const named = process.argv.slice(2);
const unknown = named.filter((name) => !Object.hasOwn(PARTS, name));
if (unknown.length > 0) {
  console.error(`Unknown part ${unknown.join(", ")}; known are ${Object.keys(PARTS).join(", ")}`);
  process.exit(2);
}
for (const name of named.length > 0 ? named : Object.keys(PARTS)) {
  const redis = await startRedis();
  if (name === (named[0] ?? "store")) {
    const [cpu] = cpus();
    console.log(`Node ${process.version}, Redis ${redis.version}, ${cpus().length} × ${cpu?.model.trim()}`);
    if (QUICK) console.log("BENCH_QUICK: these figures mean nothing");
  }
  console.log(`\n## ${PARTS[name].title}\n`);
  try {
    await PARTS[name].run(redis.port);
  } finally {
    await redis.stop();
  }
}
