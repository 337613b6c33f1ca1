import { checkGenerations } from "./generation-rules.js";
import { type Operation, RULES, type Violation } from "./operations.js";
import { checkReads, type Report } from "./read-rules.js";
import { Timeline } from "./timeline.js";
import { checkWrites } from "./write-rules.js";

/**
 * Holds a recorded history against the guarantees. It knows nothing of how the store works: only what callers asked for, when,
 * and what they were told. `lateUs`: how long after a failure was reported the failed operation may still have its effect.
 */
export function checkHistory(operations: readonly Operation[], lateUs: number): Violation[] {
  const violations: Violation[] = [];
  const report: Report = (rule, ...shown) => {
    const involved = shown.filter((operation) => operation !== undefined);
    violations.push({ rule, message: RULES[rule], operations: involved });
  };
  const timeline = new Timeline(operations, lateUs);
  checkReads(timeline, report);
  checkWrites(timeline, report);
  checkGenerations(operations, report);
  return violations;
}
