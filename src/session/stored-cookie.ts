import { COOKIE_START, withData } from "./payload.js";

/** The cookie at the beginning of a stored payload: finding it and replacing it without touching the data behind it. */

/** True if the payload's cookie is written exactly as `prefix` says. */
export function startsWithCookie(payload: string, prefix: string): boolean {
  const next = payload[prefix.length];
  return (next === "," || next === "}") && payload.startsWith(prefix);
}

/** Where the cookie's JSON ends in a payload that this library wrote; -1 if `cookie` does not come first. */
export function cookieEnd(payload: string): number {
  if (!payload.startsWith(`${COOKIE_START}{`)) return -1;
  let depth = 0;
  let inString = false;
  for (let at = COOKIE_START.length; at < payload.length; at += 1) {
    const character = payload[at];
    if (inString) {
      if (character === "\\") at += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === "{") depth += 1;
    else if (character === "}") {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}

/** The same payload with another cookie; for payloads another writer laid out, its JSON is rewritten. */
export function withCookie(payload: string, prefix: string): string | undefined {
  const end = cookieEnd(payload);
  if (end >= 0) return prefix + payload.slice(end);
  try {
    const { cookie: _replaced, ...rest } = JSON.parse(payload) as Record<string, unknown>;
    return withData(prefix, JSON.stringify(rest));
  } catch {
    return undefined;
  }
}

/** True if two payloads hold the same data under different cookies. */
export function onlyCookieDiffers(stored: string | undefined, payload: string): boolean {
  if (stored === undefined) return false;
  const end = cookieEnd(stored);
  return end > 0 && stored.slice(end) === payload.slice(cookieEnd(payload));
}

/** What to replace by what at the beginning of a stored payload; all of it when another writer laid it out. */
export function cookieChange(
  stored: string,
  prefix: string,
): { readonly from: string; readonly to: string } | undefined {
  const end = cookieEnd(stored);
  if (end > 0) return { from: stored.slice(0, end), to: prefix };
  const to = withCookie(stored, prefix);
  return to === undefined ? undefined : { from: stored, to };
}
