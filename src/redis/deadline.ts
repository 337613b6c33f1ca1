import { RedisError } from "../errors.js";
import { Expiries } from "./expiries.js";

const EXPIRIES = new Expiries();

const asIs = (error: unknown): unknown => error;

/** A point in time by which an operation must have ended, whatever Redis does. */
export class Deadline {
  /** The end, on this process' monotonic clock. */
  readonly endsAtMs: number;
  readonly #timeoutMs: number;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
    // A monotonic clock: a stepped wall clock must not turn two seconds into an hour.
    this.endsAtMs = performance.now() + timeoutMs;
  }

  get remainingMs(): number {
    return Math.max(0, this.endsAtMs - performance.now());
  }

  /**
   * Settles as `promise` does (its failure as `toFailure` says), or rejects with a timeout once the deadline has passed. The promise
   * itself goes on: what it was waiting for may still happen, which is why such an error is of unknown outcome.
   */
  limit<T>(promise: Promise<T>, toFailure: (error: unknown) => unknown = asIs): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      let isOpen = true;
      const expiry = EXPIRIES.add(this.endsAtMs, this.#timeoutMs, () => {
        isOpen = false;
        reject(this.timeoutError());
      });
      const callOff = (): void => {
        if (isOpen) EXPIRIES.remove(expiry);
        isOpen = false;
      };
      promise.then(
        (value) => {
          callOff();
          resolve(value);
        },
        (error: unknown) => {
          callOff();
          reject(toFailure(error));
        },
      );
    });
  }

  /** The server found the deadline passed when the command reached it, and did nothing. */
  tooLateError(): RedisError {
    return new RedisError(
      "ERR_REDIS_TIMEOUT",
      "refused",
      `The command reached Redis later than ${this.#timeoutMs} ms (commandTimeoutMs) and had no effect`,
    );
  }

  timeoutError(): RedisError {
    return new RedisError(
      "ERR_REDIS_TIMEOUT",
      "unknown",
      `Redis did not answer within ${this.#timeoutMs} ms (commandTimeoutMs); the command may still take effect`,
    );
  }

  unavailableError(cause?: unknown): RedisError {
    return new RedisError(
      "ERR_REDIS_UNAVAILABLE",
      "not-sent",
      `No ready connection to Redis within ${this.#timeoutMs} ms (commandTimeoutMs); nothing was sent`,
      cause,
    );
  }
}
