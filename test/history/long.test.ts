import { expect, test } from "vitest";
import { FAULT_NAMES } from "./faults.js";
import { describe as described } from "./report.js";
import { runHistory } from "./runner.js";

const LEAST_OPERATIONS = 30_000;
const ROUND_SECONDS = 20;
const MIN_ROUNDS = 3;

/** On a slow machine there are more rounds, up to this many. */
const MAX_ROUNDS = 9;

test("G1 G4 G5 G6 G8: tens of thousands of operations under faults break no rule", async () => {
  const sizes = { processes: 3, clients: 32, users: 40 };
  let operations = 0;
  const happened = new Set<string>();
  for (let round = 0; round < MIN_ROUNDS || (operations < LEAST_OPERATIONS && round < MAX_ROUNDS); round += 1) {
    const result = await runHistory({ ...sizes, seconds: ROUND_SECONDS, seed: 100 + round });
    const text = described(result);
    console.log(text);
    expect(result.violations.length, text).toBe(0);
    for (const [fault, times] of Object.entries(result.faults)) if (times > 0) happened.add(fault);
    operations += result.operations.length;
  }
  expect([...happened].sort()).toEqual([...FAULT_NAMES].sort());
  expect(operations).toBeGreaterThanOrEqual(LEAST_OPERATIONS);
}, 600_000);
