/** Something whose changes come one after the other. */
export interface Ordered {
  /** Ends when all changes so far have, whatever became of them. */
  tail: Promise<unknown>;
}

/** Runs a change after all earlier ones of the same thing, whatever becomes of each. */
export function inOrder<T>(ordered: Ordered, change: () => Promise<T>): Promise<T> {
  const done = ordered.tail.then(change);
  ordered.tail = done.catch(() => undefined);
  return done;
}
