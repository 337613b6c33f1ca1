/** A Node callback as express-session hands it to stores. */
export type Callback<T> = (error: unknown, value?: T) => void;

/**
 * Delivers a result to a callback, or returns the promise where there is none. The callback is called once, never before
 * the store method has returned, and outside of any `try`: what it throws is the application's own uncaught exception. The
 * returned promise counts as handled, since `Session.destroy()` passes no callback and drops the promise.
 */
export function deliver<T>(result: Promise<T>, callback: Callback<T> | undefined): Promise<T> | undefined {
  if (typeof callback !== "function") {
    result.catch(() => undefined);
    return result;
  }
  result.then(
    (value) => process.nextTick(callback, null, value),
    (error: unknown) => process.nextTick(callback, error),
  );
  return undefined;
}
