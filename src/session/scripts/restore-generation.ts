import { PUT } from "../../redis/lua-put.js";
import { defineScript, type Script } from "../../redis/script.js";
import { USABLE } from "./lua-parts.js";

const LUA = `
-- restore-generation: a counter that has fallen behind a generation it is known to have had (a failover lost the write, a
-- dump was restored) is raised to it again. Only upwards, compared as decimal text since a double could not hold it; a
-- counter that is missing or unusable stays so: that user's sessions are dead already.
-- KEYS[1] generation counter
-- ARGV[1] generation it must have reached   ARGV[2] '1': write it anew even if it has, for WAIT to count that write
-- reply {1} raised · {2} written anew · {0} nothing to do, or nothing to raise
${USABLE}
${PUT}
local current = redis.pcall('GET', KEYS[1])
if not usable(current) then return {0} end
local wanted = ARGV[1]
local reached = #current > #wanted or (#current == #wanted and current >= wanted)
if reached and ARGV[2] ~= '1' then return {0} end
if reached then wanted = current end
local ttl = redis.call('PTTL', KEYS[1])
if ttl < 0 then
  put(wanted)
else
  put(wanted, 'PX', math.max(1, ttl))
end
return {reached and 2 or 1}
`;

/** `unchanged`: nothing had to be done, or there is no usable counter to do it to. */
export type RestoreReply = "raised" | "rewritten" | "unchanged";

export const restoreGeneration: Script<RestoreReply> = defineScript<RestoreReply>({
  name: "restore-generation",
  lua: LUA,
  decode: (status) => (status === 1 ? "raised" : status === 2 ? "rewritten" : status === 0 ? "unchanged" : undefined),
});
