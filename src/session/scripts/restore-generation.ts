import { defineScript, type Script } from "../../redis/script.js";
import { USABLE } from "./lua-parts.js";

const LUA = `
-- restore-generation: a counter that has fallen behind a generation it is known to have had (a failover lost the write, a
-- dump was restored) is raised to it again. Only upwards, compared as decimal text since a double could not hold it; a
-- counter that is missing or unusable stays so: that user's sessions are dead already.
-- KEYS[1] generation counter
-- ARGV[1] generation it must have reached
-- reply {1} raised · {0} nothing to do
${USABLE}
local current = redis.pcall('GET', KEYS[1])
if not usable(current) then return {0} end
local wanted = ARGV[1]
if #current > #wanted or (#current == #wanted and current >= wanted) then return {0} end
local ttl = redis.call('PTTL', KEYS[1])
redis.call('DEL', KEYS[1])
if ttl < 0 then
  redis.call('SET', KEYS[1], wanted)
else
  redis.call('SET', KEYS[1], wanted, 'PX', ttl)
end
return {1}
`;

/** True if the counter had fallen behind. */
export const restoreGeneration: Script<boolean> = defineScript<boolean>({
  name: "restore-generation",
  lua: LUA,
  decode: (status) => (status === 1 ? true : status === 0 ? false : undefined),
});
