import { defineScript, type Script } from "../../redis/script.js";
import { OWNS } from "./lua-parts.js";

const LUA = `
-- release-key: forgets the key, so that the next request with it runs. Only its owner may, who knows that nothing was done.
-- KEYS[1] record of the key
-- ARGV[1] the owner's nonce
-- reply {1} forgotten · {0} taken over, ended or gone
${OWNS}
if not owns(ARGV[1]) then return {0} end
redis.call('DEL', KEYS[1])
return {1}
`;

/** True if the key is free now. */
export const releaseKey: Script<boolean> = defineScript<boolean>({
  name: "release-key",
  lua: LUA,
  decode: (status) => (status === 1 ? true : status === 0 ? false : undefined),
});
