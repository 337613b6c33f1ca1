import { expect, test } from "vitest";
import { CLUSTER_FAULT_NAMES } from "../history/cluster-faults.js";
import { describe as described } from "../history/report.js";
import { runHistory } from "../history/runner.js";

const SECONDS = process.env["THOROUGH"] === "1" ? 120 : 12;

test("G1 G4 G5 G6 G8: what clients of a cluster saw while primaries and slots changed places breaks no rule", async () => {
  const result = await runHistory({
    ...{ topology: "cluster", seconds: SECONDS, processes: 2, clients: 16, users: 32, seed: 7 },
    ...{ commandTimeoutMs: 1_000, pauseMs: [50, 300] },
  });
  const text = described(result);
  console.log(text);
  expect(result.violations.length, text).toBe(0);
  expect(result.operations.length).toBeGreaterThan(1_000);
  expect(Object.keys(result.faults).sort()).toEqual([...CLUSTER_FAULT_NAMES].sort());
  for (const times of Object.values(result.faults)) expect(times).toBeGreaterThan(0);
}, 240_000);
