import { SessionDataError } from "../errors.js";
import { encodeUserId } from "./user-id.js";

/**
 * The user that session data itself names, by the application's `userId` option (Passport: `s => s.passport?.user`), in
 * encoded form. Without the option no data names anybody.
 */
export class DataUser {
  readonly #extract: ((session: never) => unknown) | undefined;

  constructor(extract: ((session: never) => unknown) | undefined) {
    this.#extract = extract;
  }

  get isConfigured(): boolean {
    return this.#extract !== undefined;
  }

  /** `undefined` when nobody is named. Throws `ERR_USER_ID_OPTION` if the option throws or answers no user ID. */
  of(data: object): string | undefined {
    if (this.#extract === undefined) return undefined;
    try {
      const userId = this.#extract(data as never);
      return userId === undefined || userId === null ? undefined : encodeUserId("userId option", userId);
    } catch (error) {
      throw new SessionDataError(
        "ERR_USER_ID_OPTION",
        "The userId option threw, or answered something that is no user ID",
        // Its message may quote session data.
        new Error(error instanceof Error ? error.name : "not an Error"),
      );
    }
  }
}

/** True for anonymous data of an application that seems to sign users in without telling the store. */
export function looksSignedIn(data: object): boolean {
  const { passport, userId, user } = data as { passport?: { user?: unknown } | null; userId?: unknown; user?: unknown };
  return [userId, user, typeof passport === "object" ? passport?.user : undefined].some(
    (value) => value !== undefined && value !== null && value !== "" && value !== false,
  );
}
