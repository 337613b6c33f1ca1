import { kindOf, misuse } from "../check.js";
import { isGeneration } from "./record.js";
import { decodeUserText } from "./user-id.js";

const TEXT_START = "attempt1,";

/**
 * A login that has begun: whose it is, and the generation at the moment before the credentials were checked. Made by
 * `store.beginLogin` only. If a logout or password change raises the generation before the login completes, the login fails.
 *
 * Keep it on the server. While a second factor is awaited it may wait in the session as text (`String(attempt)`) and come
 * back through `store.resumeLogin(text)`.
 */
export class LoginAttempt {
  readonly #userText: string;
  readonly #generation: string;

  /** @internal */
  constructor(userText: string, generation: string) {
    this.#userText = userText;
    this.#generation = generation;
  }

  /** The attempt as text for the session, read by `store.resumeLogin`. */
  toString(): string {
    return `${TEXT_START}${this.#userText},${this.#generation}`;
  }

  /** As `toString`, so an attempt put into the session as it is is stored as text too. */
  toJSON(): string {
    return this.toString();
  }

  /** @internal */
  static read(value: unknown): { readonly userText: string; readonly generation: string } | undefined {
    if (typeof value !== "object" || value === null || !(#userText in value)) return undefined;
    return { userText: value.#userText, generation: value.#generation };
  }

  /** @internal */
  static parse(text: unknown): LoginAttempt {
    if (typeof text === "string" && text.startsWith(TEXT_START)) {
      const [userText, generation, ...rest] = text.slice(TEXT_START.length).split(",");
      if (
        userText !== undefined &&
        decodeUserText(userText) !== undefined &&
        isGeneration(generation) &&
        rest.length === 0
      ) {
        return new LoginAttempt(userText, generation);
      }
    }
    const got = typeof text === "string" ? "other text" : kindOf(text);
    throw misuse(`resumeLogin: expected the text of a login attempt, got ${got}`, "ERR_INVALID_ARG_VALUE");
  }
}
