/** `npm run history -- --seconds 600 --processes 3 --clients 16 --users 24 --seed 1 [--mutation <name>]` */
import { parseArgs } from "node:util";
import { MUTATIONS } from "./mutations.js";
import { describe } from "./report.js";
import { DEFAULTS, runHistory } from "./runner.js";

/** A longer run is made of rounds, each with new servers and processes: a history has to fit into memory. */
const ROUND_SECONDS = 60;

const NUMBERS = ["seconds", "processes", "clients", "users", "seed"] as const;

const { values } = parseArgs({
  options: {
    seconds: { type: "string" },
    processes: { type: "string" },
    clients: { type: "string" },
    users: { type: "string" },
    seed: { type: "string" },
    mutation: { type: "string" },
  },
});

function numbers(): Record<(typeof NUMBERS)[number], number> {
  const read = NUMBERS.map((name) => {
    const text = values[name];
    const value = text === undefined ? DEFAULTS[name] : Number(text);
    if (!Number.isInteger(value) || value < 1) throw new Error(`--${name}: expected a whole number from 1 on`);
    return [name, value] as const;
  });
  return Object.fromEntries(read) as Record<(typeof NUMBERS)[number], number>;
}

function mutationName(): string | undefined {
  const { mutation } = values;
  if (mutation === undefined) return undefined;
  if (!Object.hasOwn(MUTATIONS, mutation)) {
    throw new Error(`--mutation: known are ${Object.keys(MUTATIONS).join(", ")}`);
  }
  return mutation as string;
}

async function main(): Promise<void> {
  const interruption = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interruption.abort());
  const options = { ...numbers(), mutation: mutationName() };
  for (let left = options.seconds, round = 0; left > 0; left -= ROUND_SECONDS, round += 1) {
    const seed = options.seed + round;
    const result = await runHistory({ ...options, seed, seconds: Math.min(left, ROUND_SECONDS) }, interruption.signal);
    console.log(`seed ${seed}, ${describe(result)}`);
    if (result.violations.length > 0) {
      process.exitCode = 1;
      return;
    }
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
