import { kindOf, misuse } from "../check.js";

/**
 * A user's ID: a non-empty string without lone surrogates, a safe integer, or a bigint. `7`, `7n` and `"7"` are the same
 * user. Strings are compared code point by code point: composed and decomposed forms of a name are two users.
 */
export type UserId = string | number | bigint;

/** Longest user ID in its encoded form, in bytes. */
export const MAX_USER_ID_BYTES = 512;

// Contract characters, all control characters (C0, DEL, C1), and U+FFFD: bytes that are no UTF-8 decode to it, and must
// never read as a user who really has that character in the ID.
const ENCODED = "\\u0000-\\u0020\\u007f-\\u009f%,{}*?[\\]\\\\\\ufffd";
const TO_ENCODE = new RegExp(`[${ENCODED}]`, "g");
const HAS_ENCODED = new RegExp(`[${ENCODED}]`);
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Percent-encodes (UTF-8, upper-case hex) the characters that may not stand in a record's head or in a key. */
export function encodeText(text: string): string {
  if (!HAS_ENCODED.test(text)) return text;
  return text.replace(TO_ENCODE, percentEncode);
}

/** The ID's canonical text, as it stands in the record and in the counter's key. Throws a `TypeError` for no user ID. */
export function encodeUserId(where: string, userId: unknown): string {
  const text = userIdText(userId);
  if (text === undefined) {
    throw misuse(
      `${where}: expected a user ID (a non-empty string, a safe integer or a bigint), got ${kindOf(userId)}`,
      "ERR_INVALID_ARG_TYPE",
    );
  }
  if (LONE_SURROGATE.test(text)) {
    throw misuse(`${where}: expected a user ID of well-formed Unicode, got a lone surrogate`, "ERR_INVALID_ARG_VALUE");
  }
  // Checked before encoding, so that a megabyte of text is refused without being rewritten.
  const encoded = text.length > MAX_USER_ID_BYTES ? undefined : encodeText(text);
  if (encoded === undefined || byteLength(encoded) > MAX_USER_ID_BYTES) {
    throw misuse(
      `${where}: expected a user ID of at most ${MAX_USER_ID_BYTES} bytes when encoded, got a longer one`,
      "ERR_INVALID_ARG_VALUE",
    );
  }
  return encoded;
}

/** The user ID behind a text found in a record, or `undefined` if the text is not in canonical form. */
export function decodeUserText(text: string): string | undefined {
  if (text === "" || byteLength(text) > MAX_USER_ID_BYTES) return undefined;
  return decodeText(text);
}

/** Reverses `encodeText`; `undefined` if that would not give back exactly `text`. */
export function decodeText(text: string): string | undefined {
  if (!HAS_ENCODED.test(text)) return text;
  let decoded: string;
  try {
    decoded = decodeURIComponent(text);
  } catch {
    return undefined;
  }
  return encodeText(decoded) === text ? decoded : undefined;
}

function userIdText(userId: unknown): string | undefined {
  if (typeof userId === "string") return userId === "" ? undefined : userId;
  if (typeof userId === "bigint") return userId.toString();
  // `-0` is written "0": String() already does so.
  if (typeof userId === "number" && Number.isSafeInteger(userId)) return String(userId);
  return undefined;
}

function percentEncode(character: string): string {
  let encoded = "";
  for (const byte of Buffer.from(character, "utf8")) {
    encoded += `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}

function byteLength(text: string): number {
  // A UTF-16 unit is at most three bytes of UTF-8: short texts need no count.
  return text.length * 3 <= MAX_USER_ID_BYTES ? text.length : Buffer.byteLength(text, "utf8");
}
