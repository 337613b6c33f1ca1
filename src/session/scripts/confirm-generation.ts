import { defineScript, type Script } from "../../redis/script.js";

const LUA = `
-- confirm-generation: is this still the user's generation? If so a login stands behind the counter now, and it stays.
-- KEYS[1] generation counter
-- ARGV[1] generation the login was stamped with
-- reply {1} current · {0} raised or lost since
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return {0} end
redis.call('PERSIST', KEYS[1])
return {1}
`;

/** True if the generation is current. */
export const confirmGeneration: Script<boolean> = defineScript<boolean>({
  name: "confirm-generation",
  lua: LUA,
  decode: (status) => (status === 1 ? true : status === 0 ? false : undefined),
});
