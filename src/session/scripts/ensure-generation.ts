import { NOW_US } from "../../redis/lua-clock.js";
import { PUT } from "../../redis/lua-put.js";
import { defineScript, type Script } from "../../redis/script.js";
import { isGeneration } from "../record.js";
import { USABLE } from "./lua-parts.js";

const LUA = `
-- ensure-generation: the user's current generation, seeded from Redis' clock if there is no usable one. A counter that no
-- completed login stands behind lives for a limited time, renewed by each attempt.
-- KEYS[1] generation counter
-- ARGV[1] time to live of a counter that only an attempt created, ms
-- reply {1, generation}
${NOW_US}
${USABLE}
${PUT}
local current = redis.pcall('GET', KEYS[1])
if usable(current) then
  if redis.call('PTTL', KEYS[1]) >= 0 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
  return {1, current}
end
local seed = string.format('%.0f', now_us())
put(seed, 'PX', ARGV[1])
return {1, seed}
`;

export const ensureGeneration: Script<string> = defineScript<string>({
  name: "ensure-generation",
  lua: LUA,
  decode: (status, [generation]) => (status === 1 && isGeneration(generation) ? generation : undefined),
});
