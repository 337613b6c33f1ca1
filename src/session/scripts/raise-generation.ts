import { NOW_US } from "../../redis/lua-clock.js";
import { PUT } from "../../redis/lua-put.js";
import { defineScript, type Script } from "../../redis/script.js";
import { isGeneration } from "../record.js";
import { USABLE } from "./lua-parts.js";

/** The random part of a raised generation is below this: 20 bits, about a second of microseconds. */
export const RANDOM_RANGE = 1_048_576;

export type RaiseReply = { readonly kind: "raised"; readonly generation: string } | { readonly kind: "superseded" };

const LUA = `
-- raise-generation: logs a user out everywhere. The new number is the first, from old + 1 and from Redis' clock in
-- microseconds on, whose last 20 bits are the caller's random ones. So no number is used twice, also after the counter was
-- lost, a write was lost in a failover or the clock stepped back; and a caller that demanded the old number can recognise
-- its own command when the driver sent it again. Works at maxmemory too.
-- KEYS[1] generation counter
-- ARGV[1] 20 random bits, decimal
-- ARGV[2] time to live of a counter that only a logout created, ms
-- ARGV[3] generation it must have, or ''
-- reply {1, generation} raised · {0} it has another generation
${NOW_US}
${USABLE}
${PUT}
local RANGE, EXACT = ${RANDOM_RANGE}, 9007199254740992
local random = tonumber(ARGV[1])
local current = redis.pcall('GET', KEYS[1])
local known = usable(current)
if ARGV[3] ~= '' and not (known and current == ARGV[3]) then
  local n = known and tonumber(current)
  if n and n < EXACT and n > tonumber(ARGV[3]) and n % RANGE == random then return {1, current} end
  return {0}
end
local persistent = redis.call('PTTL', KEYS[1]) == -1
local now = now_us()
local raised
if known and tonumber(current) >= EXACT - 2 * RANGE then
  -- Beyond what a double holds exactly, let INCRBY do the sum.
  put(current)
  redis.call('INCRBY', KEYS[1], string.format('%.0f', 1 + random))
  raised = redis.call('GET', KEYS[1])
  if not usable(raised) then raised = string.format('%.0f', now) end
else
  local least = now
  if known and tonumber(current) + 1 > now then least = tonumber(current) + 1 end
  raised = string.format('%.0f', least + (random - least) % RANGE)
end
if persistent then
  put(raised)
else
  put(raised, 'PX', ARGV[2])
end
return {1, raised}
`;

export const raiseGeneration: Script<RaiseReply> = defineScript<RaiseReply>({
  name: "raise-generation",
  lua: LUA,
  decode: (status, [generation]) => {
    if (status === 1 && isGeneration(generation)) return { kind: "raised", generation };
    return status === 0 ? { kind: "superseded" } : undefined;
  },
});
