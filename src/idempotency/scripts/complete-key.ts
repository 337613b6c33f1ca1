import { defineScript, type Script } from "../../redis/script.js";
import { OWNS } from "./lua-parts.js";

const LUA = `
-- complete-key: stores the answer, once, if the key is still this run's. HDEL comes first: then HSET is allowed also when
-- the server is at maxmemory, and what was done is not forgotten.
-- KEYS[1] record of the key
-- ARGV[1] the owner's nonce   ARGV[2] the answer
-- reply {1} stored (now or by an earlier try of ours) · {0} taken over or gone
${OWNS}
if not owns(ARGV[1]) then
  local record = redis.pcall('HMGET', KEYS[1], 'state', 'owner')
  if record[1] == 'done' and record[2] == ARGV[1] then return {1} end
  return {0}
end
redis.call('HDEL', KEYS[1], 'lease')
redis.call('HSET', KEYS[1], 'state', 'done', 'response', ARGV[2])
return {1}
`;

/** True if the answer is stored. */
export const completeKey: Script<boolean> = defineScript<boolean>({
  name: "complete-key",
  lua: LUA,
  decode: (status) => (status === 1 ? true : status === 0 ? false : undefined),
});
