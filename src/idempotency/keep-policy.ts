import { kindOf } from "../check.js";
import { hintOnce } from "../http/hints.js";

/** An answer about to be sent, as the `keep` option sees it. */
export interface IdempotencyAnswer {
  /** The status of the answer. */
  readonly status: number;
  /** Whether the handler has passed its point of no return (`req.idempotency.commit()`). */
  readonly isCommitted: boolean;
}

/** The `keep` option: true stores the answer, false frees the key, `undefined` leaves it to the default. */
export type KeepOption = (answer: IdempotencyAnswer) => boolean | undefined;

/** Answers that say "not now" or "not you" rather than what became of the request: a later try with the key must run. */
const NOT_KEPT = new Set([401, 403, 407, 408, 413, 421, 423, 425, 426, 429]);

/** What the application decides; an exception or a promise decides nothing, for the answer has to go out all the same. */
function decisionOf(answer: IdempotencyAnswer, option: KeepOption | undefined): boolean | undefined {
  try {
    const decision: unknown = option?.(answer);
    if (typeof decision === "boolean" || decision === undefined) return decision;
    hintOnce("Idempotency keys", `the keep option gave ${kindOf(decision)}; expected true, false or undefined`);
    return undefined;
  } catch (error) {
    hintOnce("Idempotency keys", `the keep option threw ${error instanceof Error ? error.name : "something"}`);
    return undefined;
  }
}

/** Whether an answer is kept. What was committed always is: to run it again could do it twice. */
export function isKept(answer: IdempotencyAnswer, option: KeepOption | undefined): boolean {
  if (answer.isCommitted) return true;
  return decisionOf(answer, option) ?? (answer.status < 500 && !NOT_KEPT.has(answer.status));
}
