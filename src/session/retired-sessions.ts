import { LRUCache } from "lru-cache";

/** How many retired session IDs a process remembers; enough for all requests still in flight. */
const MAX_RETIRED = 20_000;

/**
 * Session IDs that this process has ended or found ended. Requests that loaded such an ID before are still running and
 * would, at their end, send its cookie again over the one the browser just got, and save their copy.
 */
export class RetiredSessions {
  readonly #retiredAt = new LRUCache<string, number>({ max: MAX_RETIRED });
  #clock = 0;

  /** Now, in this process' order of endings: take it before a session is read. */
  get moment(): number {
    return this.#clock;
  }

  retire(sid: string): void {
    this.#clock += 1;
    this.#retiredAt.set(sid, this.#clock);
  }

  /**
   * Makes `req.sessionID` read as `undefined` once the ID it was loaded with is retired, or if it was since the moment of the
   * read: express-session then neither sends a cookie nor saves. Assigning another ID, as `regenerate()` does, ends the watch.
   */
  watch(req: object, sid: string, readAt: number): void {
    let current: unknown = sid;
    let watching = true;
    Object.defineProperty(req, "sessionID", {
      configurable: true,
      enumerable: true,
      get: () => (watching && this.isRetiredSince(sid, readAt) ? undefined : current),
      set: (value: unknown) => {
        watching = false;
        current = value;
      },
    });
  }

  /** An ID can come back, with an application's own `genid`: only requests from before its end are concerned. */
  isRetiredSince(sid: string, moment: number): boolean {
    const retiredAt = this.#retiredAt.get(sid);
    return retiredAt !== undefined && retiredAt > moment;
  }
}
