/** Something whose changes come one after the other. */
export interface Ordered {
  /** Ends when all changes so far have, whatever became of them. */
  tail: Promise<unknown>;
}

/** The tail of something that nobody has changed yet, and of something whose changes have all ended. */
export const UNTOUCHED: Promise<unknown> = Promise.resolve();
const DONE: Promise<unknown> = Promise.resolve();

/** Runs a change after all earlier ones of the same thing, whatever becomes of each; at once if there are none. */
export function inOrder<T>(ordered: Ordered, change: () => Promise<T>): Promise<T> {
  const { tail } = ordered;
  const done = tail === UNTOUCHED || tail === DONE ? change() : tail.then(change);
  const end = (): void => {
    if (ordered.tail === own) ordered.tail = DONE;
  };
  const own = done.then(end, end);
  ordered.tail = own;
  return done;
}
