import { defineScript, type Script } from "../../redis/script.js";
import { COMMITTED, REPLACE, SPENT } from "./lua-parts.js";

const LUA = `
-- commit-token: writes into the tombstone that the submission took effect, and where its result is.
-- KEYS[1] token
-- ARGV[1] the request's nonce   ARGV[2] location of the result, or ''
-- reply {1} written · {0} the tombstone is another request's, or gone
${REPLACE}
local value = redis.pcall('GET', KEYS[1])
local own = '${SPENT}' .. ARGV[1]
if type(value) ~= 'string' then return {0} end
if value ~= own and string.sub(value, 1, #own + ${COMMITTED.length}) ~= own .. '${COMMITTED}' then return {0} end
replace(own .. '${COMMITTED}' .. ARGV[2])
return {1}
`;

/** True if it was written. */
export const commitToken: Script<boolean> = defineScript<boolean>({
  name: "commit-token",
  lua: LUA,
  decode: (status) => (status === 1 ? true : status === 0 ? false : undefined),
});
