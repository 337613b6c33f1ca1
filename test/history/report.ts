import type { Operation, Violation } from "./operations.js";
import type { HistoryResult } from "./runner.js";

/** One line with the figures, and after it the first violations of each rule with what shows them. */
export function describe({ operations, faults, violations }: HistoryResult): string {
  const count = Object.values(faults).reduce((sum, each) => sum + each, 0);
  const kinds = Object.entries(faults).map(([name, each]) => `${name} ${each}`);
  const lines = [
    `history: ${operations.length} operations checked (${countByKind(operations)}), ${count} faults (${kinds.join(", ")}), ${violations.length} violations`,
  ];
  const shown = new Set<string>();
  for (const violation of violations) {
    if (shown.has(violation.rule)) continue;
    shown.add(violation.rule);
    const times = violations.filter(({ rule }) => rule === violation.rule).length;
    lines.push(...describeViolation(violation, times));
  }
  return lines.join("\n");
}

function describeViolation({ rule, message, operations }: Violation, times: number): string[] {
  const start = Math.min(...operations.map(({ from }) => from));
  return [
    `${rule} (${times} times): ${message}`,
    ...operations.map((operation) => {
      const { kind, process, client, from, to, outcome, ...rest } = operation;
      const span = `${((from - start) / 1_000).toFixed(1)}–${((to - start) / 1_000).toFixed(1)} ms`;
      return `  ${span} ${kind} ${outcome} by ${process}/${client} ${JSON.stringify(rest)}`;
    }),
  ];
}

function countByKind(operations: readonly Operation[]): string {
  const counts = new Map<string, number>();
  for (const { kind } of operations) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([kind, count]) => `${kind} ${count}`)
    .join(", ");
}
