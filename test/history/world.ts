import type { Redis } from "ioredis";
import type { GenerationStore } from "../../src/index.js";
import type { Operation, Outcome } from "./operations.js";
import type { Random } from "./random.js";
import type { RequestLine } from "./requests.js";
import type { SessionPool } from "./session-pool.js";

/** What one client of the history has to work with. */
export interface World {
  readonly process: number;
  readonly client: number;
  readonly random: Random;
  readonly store: GenerationStore;
  readonly requests: RequestLine;
  readonly pool: SessionPool;
  /** Reaches the server under test as a program in another language would: without the library, without faults between. */
  readonly foreign: Pick<Redis, "incr">;
  /** The application's database of users: their passwords. A server of its own, which never fails. */
  readonly users: Redis;
  /** The user somebody in this process has just begun to sign in or to move: a good moment to log that user out. */
  readonly busy: { user: string };
  /** What each client of the process is at. */
  readonly doing: Map<number, string>;
  readonly newValue: () => string;
  readonly record: (operation: Operation) => void;
  /** Tells all processes of a session cookie that a browser has got. */
  readonly publish: (user: string, sid: string) => void;
}

/** How an operation ended, from what it threw. */
export interface Ended {
  readonly outcome: Outcome;
  readonly code?: string | undefined;
}

export const DONE: Ended = { outcome: "ok" };

/**
 * Reads an error of the library. `void` only for operations of one command: of those that need several, the ones before the
 * failed one had their effect. Anything but a coded error of the library is a bug and is thrown on.
 */
export function endedBy(error: unknown, commands: "one" | "several"): Ended {
  const { code, outcome, cause } = error as { code?: unknown; outcome?: unknown; cause?: { outcome?: unknown } };
  if (typeof code !== "string" || !code.startsWith("ERR_") || error instanceof TypeError) throw error;
  if (code === "ERR_LOGIN_SUPERSEDED" || code === "ERR_NOT_LOGGED_IN") return { outcome: "refused", code };
  const known = outcome ?? cause?.outcome;
  const isVoid = commands === "one" && (known === "not-sent" || known === "refused");
  return { outcome: isVoid ? "void" : "unknown", code };
}

/** Runs an operation and says how it ended. */
export async function attempt(commands: "one" | "several", run: () => Promise<unknown>): Promise<Ended> {
  try {
    await run();
    return DONE;
  } catch (error) {
    return endedBy(error, commands);
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
