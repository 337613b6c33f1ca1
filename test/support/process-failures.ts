import { setTimeout as delay } from "node:timers/promises";

/** What escaped every handler while `act` ran and for a moment after. */
export interface Escaped {
  readonly exceptions: unknown[];
  readonly rejections: unknown[];
}

/** Collects uncaught exceptions and unhandled rejections instead of letting the test runner fail on them. */
export async function escapedFrom(act: () => Promise<void> | void, waitMs = 60): Promise<Escaped> {
  const escaped: Escaped = { exceptions: [], rejections: [] };
  const events = ["uncaughtException", "unhandledRejection"] as const;
  const saved = events.map((event) => process.rawListeners(event));
  for (const event of events) process.removeAllListeners(event);
  process.on("uncaughtException", (error) => escaped.exceptions.push(error));
  process.on("unhandledRejection", (error) => escaped.rejections.push(error));
  try {
    await act();
    await delay(waitMs);
  } finally {
    for (const [index, event] of events.entries()) {
      process.removeAllListeners(event);
      for (const listener of saved[index] ?? []) process.on(event, listener as never);
    }
  }
  return escaped;
}
