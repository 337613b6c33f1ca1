import { createHash } from "node:crypto";

/**
 * A Lua script with what is needed to run it. The SHA-1 is computed here, so no `SCRIPT LOAD` round trip is ever needed.
 * On a cluster a script is given exactly one key, so none can meet CROSSSLOT.
 */
export interface Script<Reply> {
  readonly name: string;
  readonly lua: string;
  readonly sha1: string;
  /** Turns the flat reply (integer status first) into an outcome; `undefined` when it has the wrong shape. */
  readonly decode: (status: number, rest: readonly unknown[]) => Reply | undefined;
}

/** Status of a script that came after its time; the second element is Redis' clock, epoch ms. */
export const TOO_LATE = -1;

/**
 * Stands before every script: a driver may send a command again long after the request it was for has failed, when the
 * connection is back. Such a late command must not create a session, spend a token or undo anything, so it carries the time,
 * on Redis' clock, until which somebody waits for it.
 */
const NOT_AFTER = `
-- ARGV[#ARGV] latest time at which this script may take effect, epoch ms on this server's clock
-- reply {-1, now} too late, nothing done
local not_after_clock = redis.call('TIME')
local not_after_now = not_after_clock[1] * 1e3 + not_after_clock[2] / 1e3
if not_after_now > tonumber(ARGV[#ARGV]) then return {-1, string.format('%.0f', not_after_now)} end
`;

/** Defines a script; `lua` starts with its KEYS/ARGV/reply header. */
export function defineScript<Reply>(definition: {
  readonly name: string;
  readonly lua: string;
  readonly decode: (status: number, rest: readonly unknown[]) => Reply | undefined;
}): Script<Reply> {
  const lua = NOT_AFTER + definition.lua;
  return { ...definition, lua, sha1: createHash("sha1").update(lua).digest("hex") };
}
