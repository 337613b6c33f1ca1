import { CLIENT_KIND } from "./clients.js";

/** Lets a random number of turns of the event loop pass, up to a few milliseconds: shuffles concurrent requests. */
export async function jitter(maxTurns = 12): Promise<void> {
  const turns = Math.floor(Math.random() * maxTurns);
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Options of tests that run hundreds of rounds: on a busy machine they may take long. */
export const RANDOM = { timeout: 90_000 };

/** THOROUGH=1, as the run on ioredis 6 in CI sets it, plays every random round; a plain `npm test` every fourth. */
function share(): number {
  // ioredis-mock's scripts are slow, and in one process little can happen in between.
  if (CLIENT_KIND === "mock") return 0.1;
  return process.env["THOROUGH"] === "1" ? 1 : 0.25;
}

/** Runs the round so many times (or its share of that), some at once; says how many there were. */
export async function rounds(wanted: number, atOnce: number, round: (index: number) => Promise<void>): Promise<number> {
  const count = Math.ceil(wanted * share());
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      const index = next;
      next += 1;
      await round(index);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return count;
}
