import type { ServerResponse } from "node:http";

const NOT_RUN = Symbol.for("logout-everywhere.not-run");

/** Notes that a guard refused the request before its handler: nothing was done, whatever the status says. */
export function markNotRun(res: ServerResponse): void {
  Object.defineProperty(res, NOT_RUN, { value: true, configurable: true });
}

export function wasNotRun(res: ServerResponse): boolean {
  return (res as { readonly [NOT_RUN]?: boolean })[NOT_RUN] === true;
}
