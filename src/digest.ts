import { createHash } from "node:crypto";

/** Joins parts so that no two lists of parts give the same text: each is preceded by its length. */
export function lengthPrefixed(parts: readonly string[]): string {
  return parts.map((part) => `${Buffer.byteLength(part)}:${part}`).join("");
}

/** SHA-256 over the parts, as base64url. */
export function digest(...parts: string[]): string {
  return createHash("sha256").update(lengthPrefixed(parts)).digest("base64url");
}
