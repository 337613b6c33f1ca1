import { misuse } from "../check.js";

/** express-session's own way to put a new session on a request, assigned to the store by each `session()` mount. */
export type Generate = (req: object) => void;

/** The part of a request that `generate` writes. */
export interface GeneratedRequest {
  session: object & { cookie: object };
  sessionID: string;
}

/**
 * Keeps the `generate` that `session()` assigns to its store. With two mounts on one store the last one's cookie settings win
 * for new sessions of both: that is express-session's doing, and worth a warning.
 */
export class MountGenerate {
  #generate: Generate | undefined;
  #mounts = 0;

  get isMounted(): boolean {
    return this.#generate !== undefined;
  }

  assign(generate: Generate): void {
    this.#generate = generate;
    this.#mounts += 1;
    if (this.#mounts === 2) {
      process.emitWarning(
        "Two session() middlewares share one GenerationStore: express-session then uses the cookie options of the last " +
          "one for the new sessions of both. Create one store for each.",
        { type: "LogoutEverywhereWarning", code: "LOGOUT_EVERYWHERE_SHARED_STORE" },
      );
    }
  }

  /** Puts a new session on the request itself. */
  on(req: object): void {
    if (this.#generate === undefined) {
      throw misuse("No session() middleware uses this store; pass it as session({ store })", "ERR_INVALID_ARG_VALUE");
    }
    this.#generate(req);
  }

  /** Makes a new session as the mount would, without touching the request. */
  beside(req: object): GeneratedRequest {
    const shadow = Object.create(req, {
      sessionID: { value: undefined, writable: true },
      session: { value: undefined, writable: true },
    }) as GeneratedRequest;
    this.on(shadow);
    return shadow;
  }
}
