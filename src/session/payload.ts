import session, { type SessionData } from "express-session";
import { SessionDataError } from "../errors.js";

/**
 * The session's JSON as stored: `cookie` first, without what can be derived again when reading.
 */

/** Cookie attributes that express-session knows, each with the check a stored value must pass to be used. */
const COOKIE_ATTRIBUTES: ReadonlyMap<string, (value: unknown) => boolean> = new Map<
  string,
  (value: unknown) => boolean
>([
  ["originalMaxAge", (value) => value === null || typeof value === "number"],
  ["expires", (value) => typeof value === "string" && !Number.isNaN(Date.parse(value))],
  ["httpOnly", (value) => typeof value === "boolean"],
  ["secure", (value) => typeof value === "boolean" || value === "auto"],
  ["partitioned", (value) => typeof value === "boolean"],
  ["path", (value) => typeof value === "string"],
  ["domain", (value) => typeof value === "string"],
  ["priority", (value) => typeof value === "string" && /^(?:low|medium|high)$/i.test(value)],
  [
    "sameSite",
    (value) => typeof value === "boolean" || (typeof value === "string" && /^(?:lax|strict|none|auto)$/i.test(value)),
  ],
]);

/** Those that are stored as they are. */
const PLAIN_ATTRIBUTES: readonly string[] = [...COOKIE_ATTRIBUTES.keys()].filter(
  (name) => name !== "originalMaxAge" && name !== "expires",
);

/** The cookie always comes first: it can then be found, and replaced, without reading the data. */
export const COOKIE_START: string = '{"cookie":';

/** The latest instant a Date can hold. */
const MAX_DATE_MS = 8.64e15;

/** What `new Session()` already has: such a name in the data is lost on read and would look like a change every time. */
const RESERVED_NAMES: ReadonlySet<string> = new Set([
  ...Object.getOwnPropertyNames(session.Session.prototype),
  ...Object.getOwnPropertyNames(Object.prototype),
  "req",
  "id",
  // The store's own on each Session, see json-guard.ts.
  "toJSON",
]);

/** The data of a session, as text. Throws a `SessionDataError` for what JSON cannot hold. */
export function serializeSession(data: object): string {
  const source = data as Record<string, unknown>;
  const rest: Record<string, unknown> = {};
  for (const name of Object.keys(source)) {
    if (name !== "cookie" && !RESERVED_NAMES.has(name)) rest[name] = source[name];
  }
  try {
    // Not one object for both: names that look like integers ("42") would come before the cookie.
    return withData(cookiePrefix(source["cookie"]), JSON.stringify(rest));
  } catch (error) {
    throw new SessionDataError(
      "ERR_SESSION_NOT_SERIALIZABLE",
      "The session holds something JSON cannot (a BigInt, a cycle, a throwing toJSON); store plain data only",
      // V8's message for a cycle names property paths, not values; the error's own class is enough here.
      new TypeError(error instanceof Error ? error.name : "not serializable"),
    );
  }
}

/**
 * The session data behind a payload, ready for express-session; `"corrupt"` if it is no session (no object, no usable
 * cookie), `"over"` if its fixed expiry has passed. `expires` is now plus the cookie's age: what Redis has left is not asked on reads.
 */
export function parsePayload(payload: string, nowMs: number = Date.now()): SessionData | "corrupt" | "over" {
  let parsed: unknown;
  try {
    parsed = JSON.parse(payload);
  } catch {
    return "corrupt";
  }
  if (!isPlainObject(parsed) || !isPlainObject(parsed["cookie"])) return "corrupt";
  const cookie = hydratedCookie(parsed["cookie"], nowMs);
  if (typeof cookie === "string") return cookie;
  for (const name in parsed) {
    if (RESERVED_NAMES.has(name)) delete parsed[name];
  }
  parsed["cookie"] = cookie;
  return parsed as unknown as SessionData;
}

/** How a payload with this cookie starts. */
export function cookiePrefix(cookie: unknown): string {
  return COOKIE_START + JSON.stringify(strippedCookie(cookie));
}

/** A payload that starts so and goes on with the JSON of the other data. */
export function withData(prefix: string, rest: string): string {
  return rest === "{}" ? `${prefix}}` : `${prefix},${rest.slice(1)}`;
}

/** Data of a bare `user,generation`: nothing but a cookie, which the mount's own settings replace when it is used. */
export function emptySessionData(): SessionData {
  return { cookie: { originalMaxAge: null, expires: null, httpOnly: true, path: "/" } } as unknown as SessionData;
}

/** What of a cookie is stored: nothing that can be derived, nothing that is express-session's default. */
function strippedCookie(cookie: unknown): Record<string, unknown> {
  const stripped: Record<string, unknown> = {};
  if (typeof cookie !== "object" || cookie === null) return stripped;
  const source = cookie as Record<string, unknown> & { toJSON?: unknown; data?: unknown };
  const data = (typeof source.toJSON === "function" ? source.data : source) as Record<string, unknown>;
  // Plain objects written by hand may name the age as the options of express-session do.
  const age = data["originalMaxAge"] ?? data["maxAge"];
  if (typeof age === "number" && Number.isFinite(age)) stripped["originalMaxAge"] = age;
  else if (data["expires"] instanceof Date || typeof data["expires"] === "string") {
    const expires = new Date(data["expires"]);
    if (!Number.isNaN(expires.getTime())) stripped["expires"] = expires.toISOString();
  }
  for (const name of PLAIN_ATTRIBUTES) {
    const value = data[name];
    if (value === undefined || value === null) continue;
    if ((name === "httpOnly" && value === true) || (name === "path" && value === "/")) continue;
    stripped[name] = value;
  }
  return stripped;
}

function hydratedCookie(stored: Record<string, unknown>, nowMs: number): Record<string, unknown> | "corrupt" | "over" {
  const cookie: Record<string, unknown> = { originalMaxAge: null, expires: null, httpOnly: true, path: "/" };
  for (const name in stored) {
    const check = COOKIE_ATTRIBUTES.get(name);
    const value = stored[name];
    if (check === undefined || (value === null && name === "expires")) continue;
    if (!check(value)) return "corrupt";
    cookie[name] = value;
  }
  const age = cookie["originalMaxAge"];
  if (typeof age === "number") cookie["expires"] = new Date(Math.min(nowMs + age, MAX_DATE_MS));
  else if (typeof cookie["expires"] === "string") {
    const expires = new Date(cookie["expires"]);
    if (expires.getTime() <= nowMs) return "over";
    cookie["expires"] = expires;
  }
  return cookie;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
