/**
 * Adds up vitest's JSON reports: `node scripts/sum-tests.mjs <folder> <failed stages>` prints "N passed, N failed".
 * A file that could not even be loaded counts as one failure, an unreadable report too, and so does each failed stage that
 * no report shows.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const [folder = "", failedStages = "0"] = process.argv.slice(2);
let passed = 0;
let failed = 0;
for (const name of readdirSync(folder)) {
  const report = read(join(folder, name));
  passed += report.numPassedTests;
  failed += report.numFailedTests + report.testResults.filter(isBroken).length;
}
console.log(`${passed} passed, ${Math.max(failed, Number(failedStages))} failed`);

function read(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    // Cut off when its run was ended.
    return { numPassedTests: 0, numFailedTests: 1, testResults: [] };
  }
}

function isBroken({ status, assertionResults }) {
  return status === "failed" && !assertionResults.some((result) => result.status === "failed");
}
