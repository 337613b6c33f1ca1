import { defineScript, type Script } from "../../redis/script.js";
import { REPLACE, SPENT } from "./lua-parts.js";

const LUA = `
-- release-token: gives a spent token back for the rest of its life, if the request that asks is the one that spent it and has
-- not committed.
-- KEYS[1] token
-- ARGV[1] what the token is bound to   ARGV[2] the request's nonce
-- reply {1} the token is live · {0} spent by another request, committed, or gone
${REPLACE}
local value = redis.pcall('GET', KEYS[1])
if value == ARGV[1] then return {1} end
if value ~= '${SPENT}' .. ARGV[2] then return {0} end
replace(ARGV[1])
return {1}
`;

/** True if the token can be used again. */
export const releaseToken: Script<boolean> = defineScript<boolean>({
  name: "release-token",
  lua: LUA,
  decode: (status) => (status === 1 ? true : status === 0 ? false : undefined),
});
