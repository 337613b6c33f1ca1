import { randomBytes } from "node:crypto";

/** A nonce for a record's head: 72 random bits, enough never to meet another's under one session ID. */
export function newNonce(): string {
  return randomBytes(9).toString("base64url");
}
