import type { CipherKey } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { types } from "node:util";
import { parseCookie } from "cookie";
import { unsign } from "cookie-signature";
import type { SessionData } from "express-session";
import { checkOptions, checkText, kindOf, misuse } from "../check.js";
import { shareBinding } from "./session-binding.js";
import type { SessionLoader } from "./session-loader.js";

/** Options of `store.readRequest`: the same as the `session()` middleware got. */
export interface ReadRequestOptions {
  /** The secret, or the list of them, that session cookies are signed with: text, a Buffer or a `KeyObject`. */
  readonly secret: CipherKey | readonly CipherKey[];
  /**
   * The session cookie's name.
   * @defaultValue `"connect.sid"`
   */
  readonly name?: string | undefined;
}

const READ_OPTIONS = { secret: true, name: true } as const;

/** What express-session puts before a signed session ID. */
const SIGNED_PREFIX = "s:";

/** How many cookies of the name are tried; browsers send two after a change of path or domain, attackers more. */
const MAX_CANDIDATES = 5;

export async function readRequestSession(
  loader: SessionLoader,
  req: IncomingMessage,
  options: ReadRequestOptions,
): Promise<SessionData | null> {
  const { secrets, name } = checkReadOptions(options);
  const header = req?.headers?.cookie;
  if (typeof header !== "string") return null;
  for (const sid of signedIds(header, name, secrets)) {
    const { data } = await loader.load(sid);
    if (data === null) continue;
    shareBinding(data);
    return data;
  }
  return null;
}

function signedIds(header: string, name: string, secrets: readonly CipherKey[]): string[] {
  const ids = new Set<string>();
  for (const pair of header.split(";")) {
    // One pair at a time: a parser for the whole header keeps only the first cookie of a name.
    const value = parseCookie(pair)[name];
    if (value === undefined || !value.startsWith(SIGNED_PREFIX)) continue;
    for (const secret of secrets) {
      const sid = unsign(value.slice(SIGNED_PREFIX.length), secret);
      if (typeof sid === "string") ids.add(sid);
    }
    if (ids.size >= MAX_CANDIDATES) break;
  }
  return [...ids];
}

function checkReadOptions(options: ReadRequestOptions): { secrets: readonly CipherKey[]; name: string } {
  checkOptions("readRequest", options, READ_OPTIONS);
  const { secret, name = "connect.sid" } = options;
  const secrets: readonly CipherKey[] = isList(secret) ? secret : [secret];
  if (secrets.length === 0) {
    throw misuse(
      `readRequest: secret: expected a secret or a list of them, got ${kindOf(secret)}`,
      "ERR_INVALID_ARG_VALUE",
    );
  }
  for (const each of secrets) checkSecret(each);
  return { secrets, name: checkText("readRequest: name", name) };
}

function isList(secret: ReadRequestOptions["secret"]): secret is readonly CipherKey[] {
  return Array.isArray(secret);
}

function checkSecret(secret: unknown): void {
  if (types.isKeyObject(secret) || (ArrayBuffer.isView(secret) && secret.byteLength > 0)) return;
  checkText("readRequest: secret", secret);
}
