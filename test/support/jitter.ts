/** Lets a random number of turns of the event loop pass, up to a few milliseconds: shuffles concurrent requests. */
export async function jitter(maxTurns = 12): Promise<void> {
  const turns = Math.floor(Math.random() * maxTurns);
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Runs the round so many times, some at once. */
export async function rounds(count: number, atOnce: number, round: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      const index = next;
      next += 1;
      await round(index);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
