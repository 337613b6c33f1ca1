import type { Operation, Span } from "./operations.js";
import type { Report } from "./read-rules.js";

/** Somebody was told a user's generation. */
interface Sight extends Span {
  readonly operation: Operation;
  readonly generation: number;
  /** True if the number was made by this operation, so that it must be new. */
  readonly isNew: boolean;
}

/** A user's generations only rise: what is told later is not lower, and a new one is higher than all told before. */
export function checkGenerations(operations: readonly Operation[], report: Report): void {
  const byUser = new Map<string, Sight[]>();
  for (const operation of operations) {
    const sight = sightOf(operation);
    if (sight === undefined || !("user" in operation)) continue;
    const sights = byUser.get(operation.user) ?? [];
    sights.push(sight);
    byUser.set(operation.user, sights);
  }
  for (const sights of byUser.values()) checkUser(sights, report);
}

function checkUser(sights: readonly Sight[], report: Report): void {
  const byBegin = sights.toSorted((a, b) => a.from - b.from);
  const byEnd = sights.toSorted((a, b) => a.to - b.to);
  let ended = 0;
  let highest: Sight | undefined;
  const made = new Map<number, Sight>();
  for (const sight of byBegin) {
    for (let next = byEnd[ended]; next !== undefined && next.to < sight.from; next = byEnd[ended]) {
      if (next.generation > (highest?.generation ?? -1)) highest = next;
      ended += 1;
    }
    const least = (highest?.generation ?? -1) + (sight.isNew ? 1 : 0);
    if (sight.generation < least) report("generation-order", highest?.operation, sight.operation);
    if (!sight.isNew) continue;
    const twin = made.get(sight.generation);
    if (twin !== undefined) report("generation-order", twin.operation, sight.operation);
    made.set(sight.generation, sight);
  }
}

function sightOf(operation: Operation): Sight | undefined {
  if (operation.kind === "login") {
    return { ...spanOf(operation.begun), operation, generation: Number(operation.generation), isNew: false };
  }
  const { kind, outcome } = operation;
  if (outcome !== "ok" || (kind !== "everywhere" && kind !== "incr" && kind !== "others")) return undefined;
  if (operation.generation === undefined) return undefined;
  return { ...spanOf(operation), operation, generation: Number(operation.generation), isNew: true };
}

function spanOf({ from, to }: Span): Span {
  return { from, to };
}
