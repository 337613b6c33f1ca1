import { kindOf, misuse } from "../check.js";
import type { SpentToken, TokenStore } from "./token-store.js";

/** What `req.submitToken.commit` may tell. */
export interface SubmissionResult {
  /**
   * Where the submission's result is: a path or an http(s) URL, at most 2 048 characters. Those who come with the same token are
   * led there.
   */
  readonly location?: string | undefined;
}

/** `req.submitToken` behind `protect`: the token this request has spent. */
export interface SubmitTokenControl {
  /**
   * Gives the token back for the rest of its life, so that the same form can be sent again. For a failure before anything was
   * done. Answers whether the token is good again: false after `commit()`, for a second call, and once it has expired.
   *
   * Errors: `RedisError` (503); the token then stays spent, or not.
   */
  release(): Promise<boolean>;
  /**
   * The point of no return: from now on the token is never given back, whatever becomes of the request. With a `location`, those
   * who come with the same token are led to the result. May be called again once the location is known. Resolves to false, never
   * rejects, when Redis could not be told: the token stays spent in any case.
   */
  commit(result?: SubmissionResult): Promise<boolean>;
}

/** The state behind `req.submitToken`: at most one release, and none after a commit. */
export class SpentTokenControl implements SubmitTokenControl {
  readonly #store: TokenStore;
  readonly #token: SpentToken;
  #isSettled = false;

  constructor(store: TokenStore, token: SpentToken) {
    this.#store = store;
    this.#token = token;
  }

  isFor(token: string, binding: string): boolean {
    return this.#token.token === token && this.#token.binding === binding;
  }

  async release(): Promise<boolean> {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    return await this.#store.release(this.#token);
  }

  async commit(result: SubmissionResult = {}): Promise<boolean> {
    // First of all: whoever commits has had an effect, also if what else they say is of no use.
    this.#isSettled = true;
    const location = checkLocation(result.location);
    return await this.#store.commit(this.#token, location).catch(() => false);
  }
}

function checkLocation(location: unknown): string {
  if (location === undefined) return "";
  const isLocation =
    typeof location === "string" &&
    location.length <= 2_048 &&
    /^(?:\/(?![/\\])|https?:\/\/)[\x21-\x7e]*$/.test(location) &&
    !/[<>"]/.test(location);
  if (isLocation) return location;
  throw misuse(
    `commit: location: expected a path or an http(s) URL of printable ASCII, at most 2048 characters, got ${kindOf(location)}`,
    typeof location === "string" ? "ERR_INVALID_ARG_VALUE" : "ERR_INVALID_ARG_TYPE",
  );
}
