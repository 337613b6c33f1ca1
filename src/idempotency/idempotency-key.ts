import type { IncomingMessage } from "node:http";

export const MAX_KEY_LENGTH = 255;

/** What a request brings as its idempotency key. */
export type SentKey =
  | { readonly kind: "key"; readonly key: string }
  | { readonly kind: "missing" | "too_long" | "invalid" };

/** Reads the `Idempotency-Key` header. Two of them are no key, even if equal: it is not known which one the sender meant. */
export function readKey(req: IncomingMessage): SentKey {
  const values = req.headersDistinct["idempotency-key"] ?? [];
  const [value] = values;
  if (value === undefined) return { kind: "missing" };
  return values.length > 1 ? { kind: "invalid" } : parseKey(value);
}

/**
 * Judges the text of a key. Bare, as most clients send it, and quoted, as a string of RFC 9651, are the same key; it is taken as it is
 * otherwise, upper and lower case included. Parameters behind a quoted key are refused: they are not defined for this header.
 */
export function parseKey(value: string): SentKey {
  const text = withoutSpacesAround(value);
  // Before anything that reads it: quoted, each character may be two.
  if (text.length > 2 * MAX_KEY_LENGTH + 2) return { kind: "too_long" };
  const key = text.startsWith('"') ? unquoted(text) : text.includes('"') ? undefined : text;
  if (key === undefined) return { kind: "invalid" };
  if (/^[ \t]*$/.test(key)) return { kind: "missing" };
  if (key.length > MAX_KEY_LENGTH) return { kind: "too_long" };
  return /^[\x21-\x7e]+$/.test(key) ? { kind: "key", key } : { kind: "invalid" };
}

/** No regular expression: one that ends in `$` takes a time that grows with the square of the spaces inside. */
function withoutSpacesAround(value: string): string {
  const isSpace = (at: number): boolean => value[at] === " " || value[at] === "\t";
  let [start, end] = [0, value.length];
  while (start < end && isSpace(start)) start += 1;
  while (end > start && isSpace(end - 1)) end -= 1;
  return value.slice(start, end);
}

/** The content of an RFC 9651 string, escapes decoded once; `undefined` if it is none, or not all of the text. */
function unquoted(text: string): string | undefined {
  const content = /^"((?:[^"\\]|\\["\\])*)"$/.exec(text)?.[1];
  return content?.replace(/\\(["\\])/g, "$1");
}
