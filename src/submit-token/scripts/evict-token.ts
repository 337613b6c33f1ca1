import { defineScript, type Script } from "../../redis/script.js";
import { SPENT } from "./lua-parts.js";

const LUA = `
-- evict-token: deletes a token that is over its session's cap. A spent one stays until it expires, so that a second submit
-- of it is still told from an unknown one.
-- KEYS[1] token
-- reply {1} deleted · {0} there is none, or it is spent
local value = redis.pcall('GET', KEYS[1])
if type(value) ~= 'string' or string.sub(value, 1, ${SPENT.length}) == '${SPENT}' then return {0} end
redis.call('DEL', KEYS[1])
return {1}
`;

/** True if it was deleted. */
export const evictToken: Script<boolean> = defineScript<boolean>({
  name: "evict-token",
  lua: LUA,
  decode: (status) => (status === 1 ? true : status === 0 ? false : undefined),
});
