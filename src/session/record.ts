import { decodeText, decodeUserText, encodeText } from "./user-id.js";

/**
 * The record under a session key: `user,generation` or `user,generation,meta,payload`.
 *
 * Everything before the payload is the *head*. It says whose session this is and under which generation; every write
 * compares it first. The payload is never looked at to decide whether a session is good.
 */
export interface StoredRecord {
  /** Exactly the text before the payload, last comma included; for a bare record the whole text. */
  readonly head: string;
  /** The login the head names; `undefined` for an anonymous session. */
  readonly login: StoredLogin | undefined;
  /** The session's JSON; `undefined` for a bare `user,generation`. */
  readonly payload: string | undefined;
}

/** Whose session a record is, under which generation, since when. */
export interface StoredLogin {
  readonly userId: string;
  /** The user ID's encoded form, as used in keys. */
  readonly userText: string;
  readonly generation: string;
  /** When the login was made, epoch milliseconds on Redis' clock; absent in records that another service wrote bare. */
  readonly at: number | undefined;
}

/** A generation INCR can always raise: decimal, no leading zero, at most 18 digits. Compared as text. */
const GENERATION = /^(?:0|[1-9][0-9]{0,17})$/;
const META_NAME = /^[a-z]+$/;
const EPOCH_MS = /^[1-9][0-9]{0,15}$/;
/** Heads as this library writes them, for user IDs in which nothing is encoded: recognised in one step. */
const PLAIN_HEAD =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not stand there
  /^([^\u0000-\u0020\u007f-\u009f%,{}*?[\]\\\ufffd]{1,170}),(0|[1-9][0-9]{0,17}),at=([1-9][0-9]{12});n=[A-Za-z0-9_-]+,/;

export function isGeneration(text: unknown): text is string {
  return typeof text === "string" && GENERATION.test(text);
}

/** Reads a record; `undefined` for anything that is not exactly one (corrupt, another store's JSON, another format). */
export function parseRecord(text: string): StoredRecord | undefined {
  const plain = PLAIN_HEAD.exec(text);
  if (plain === null) return parseAnyRecord(text);
  const [head, userText = "", generation = "", at] = plain;
  if (head.length === text.length) return undefined;
  const login = { userId: userText, userText, generation, at: Number(at) };
  return { head, login, payload: text.slice(head.length) };
}

function parseAnyRecord(text: string): StoredRecord | undefined {
  const userEnd = text.indexOf(",");
  if (userEnd < 0) return undefined;
  const generationEnd = text.indexOf(",", userEnd + 1);
  if (generationEnd < 0) return parseBare(text, userEnd);
  const metaEnd = text.indexOf(",", generationEnd + 1);
  if (metaEnd < 0 || metaEnd === text.length - 1) return undefined;
  const meta = parseMeta(text.slice(generationEnd + 1, metaEnd));
  if (meta === undefined) return undefined;
  const login = parseLogin(text.slice(0, userEnd), text.slice(userEnd + 1, generationEnd), meta.at);
  if (login === undefined) return undefined;
  return { head: text.slice(0, metaEnd + 1), login: login ?? undefined, payload: text.slice(metaEnd + 1) };
}

function parseBare(text: string, userEnd: number): StoredRecord | undefined {
  const login = parseLogin(text.slice(0, userEnd), text.slice(userEnd + 1), undefined);
  // A bare record is always a login: `,` alone says nothing.
  return login ? { head: text, login, payload: undefined } : undefined;
}

/** The login, `null` for an anonymous head, `undefined` for neither. */
function parseLogin(userText: string, generation: string, at: number | undefined): StoredLogin | null | undefined {
  if (userText === "" && generation === "") return null;
  if (!GENERATION.test(generation)) return undefined;
  const userId = decodeUserText(userText);
  return userId === undefined ? undefined : { userId, userText, generation, at };
}

/** `name=value` pairs joined by `;`, each name once. None at all is the meta of a bare record that was saved. */
function parseMeta(text: string): { at: number | undefined } | undefined {
  let at: number | undefined;
  if (text === "") return { at };
  const names = new Set<string>();
  for (const pair of text.split(";")) {
    const equals = pair.indexOf("=");
    const name = pair.slice(0, Math.max(equals, 0));
    const value = pair.slice(equals + 1);
    if (!META_NAME.test(name) || names.has(name) || !isMetaValue(value)) return undefined;
    names.add(name);
    if (name !== "at") continue;
    if (!EPOCH_MS.test(value)) return undefined;
    at = Number(value);
  }
  return { at };
}

function isMetaValue(value: string): boolean {
  if (value === "" || value.includes("=")) return false;
  if (!value.includes("%")) return decodeText(value) !== undefined;
  // `;` and `=` are encoded in values on top of what user IDs encode.
  try {
    return encodeMetaValue(decodeURIComponent(value)) === value;
  } catch {
    return false;
  }
}

/** A login made now: when, only the script that writes it will know. */
export function newLogin(userText: string, generation: string): StoredLogin {
  return { userId: userIdOf(userText), userText, generation, at: undefined };
}

/** The user ID behind a text that `encodeUserId` made. */
export function userIdOf(userText: string): string {
  return decodeUserText(userText) ?? userText;
}

export function encodeMetaValue(value: string): string {
  return encodeText(value).replaceAll(";", "%3B").replaceAll("=", "%3D");
}

/**
 * A head about to be written. When `after` is not empty, the login time belongs between the two parts and is filled in by
 * the script that writes the record, from Redis' clock.
 */
export interface HeadTemplate {
  readonly before: string;
  readonly after: string;
}

/** The head of a session that nobody is logged in to. */
export function anonymousHead(nonce: string): HeadTemplate {
  return { before: `,,n=${nonce},`, after: "" };
}

/** The head of a login made now: its time is Redis' time of the write. */
export function freshLoginHead(userText: string, generation: string, nonce: string): HeadTemplate {
  return { before: `${userText},${generation},at=`, after: `;n=${nonce},` };
}

/** The head of a login that goes on under another session ID: same generation, same login time (or none). */
export function inheritedLoginHead(login: StoredLogin, generation: string, nonce: string): HeadTemplate {
  const at = login.at === undefined ? "" : `at=${login.at};`;
  return { before: `${login.userText},${generation},${at}n=${nonce},`, after: "" };
}

/** The head a bare `user,generation` gets when the session is first saved: nothing is known that could be added. */
export function headOfSavedBare(bare: string): string {
  return `${bare},,`;
}

/** What a template became when it was written with this login time (empty if it had none to fill in). */
export function writtenHead({ before, after }: HeadTemplate, at: string): string {
  return before + at + after;
}

/** The login in a head that was written with this login time. */
export function writtenLogin(login: StoredLogin | undefined, at: string): StoredLogin | undefined {
  return login === undefined || at === "" ? login : { ...login, at: Number(at) };
}
