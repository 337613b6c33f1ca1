import { PUT } from "../../redis/lua-put.js";
import { defineScript, type Script } from "../../redis/script.js";
import { HAS_HEAD } from "./lua-parts.js";

/** How long the mark of a taken record stays, should the process die before it removes it. */
const MARK_TTL_MS = 10_000;

const LUA = `
-- take-record: ends a session ID for good, for exactly one taker. The record's place is taken by the taker's mark, so that
-- the same command sent again by the driver is recognised, and a second taker is not. Works at
-- maxmemory too.
-- KEYS[1] session record
-- ARGV[1] head it must have   ARGV[2] '1' if that is a bare user,generation   ARGV[3] the taker's mark
-- reply {1} taken by this caller · {0} the head differs, the record is gone or taken by another
${HAS_HEAD}
${PUT}
if has_head(ARGV[1], ARGV[2] == '1') then
  put(ARGV[3], 'PX', '${MARK_TTL_MS}')
  return {1}
end
if redis.pcall('GET', KEYS[1]) == ARGV[3] then return {1} end
return {0}
`;

/** True if this caller holds the record now. */
export const takeRecord: Script<boolean> = defineScript<boolean>({
  name: "take-record",
  lua: LUA,
  decode: (status) => (status === 1 ? true : status === 0 ? false : undefined),
});
