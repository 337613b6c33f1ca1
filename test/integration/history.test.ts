import { expect, test } from "vitest";
import { describe as described } from "../history/report.js";
import { runHistory } from "../history/runner.js";

// The longer run, and the proof that the checker notices broken rules: `npm run test:history`.
test("G1 G4 G5 G6 G8: what concurrent clients of several processes saw while Redis failed breaks no rule", async () => {
  const result = await runHistory({ seconds: 8, processes: 2 });
  const text = described(result);
  console.log(text);
  expect(result.violations.length, text).toBe(0);
  expect(result.operations.length).toBeGreaterThan(500);
  expect(Object.values(result.faults).reduce((sum, each) => sum + each)).toBeGreaterThan(3);
}, 90_000);
