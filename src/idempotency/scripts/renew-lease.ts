import { NOW_MS } from "../../redis/lua-clock.js";
import { defineScript, type Script } from "../../redis/script.js";
import { OWNS } from "./lua-parts.js";

const LUA = `
-- renew-lease: the owner is alive; optionally it has passed its point of no return. HDEL comes first: then HSET is allowed
-- also when the server is at maxmemory, and what runs does not lose its lease.
-- KEYS[1] record of the key
-- ARGV[1] the owner's nonce   ARGV[2] lease, ms   ARGV[3] '1' to commit
-- reply {1} renewed · {0} taken over, ended or gone
${NOW_MS}
${OWNS}
if not owns(ARGV[1]) then return {0} end
redis.call('HDEL', KEYS[1], 'lease')
redis.call('HSET', KEYS[1], 'lease', string.format('%.0f', now_ms() + tonumber(ARGV[2])))
if ARGV[3] == '1' then redis.call('HSET', KEYS[1], 'committed', '1') end
return {1}
`;

/** True if the run still owns the key. */
export const renewLease: Script<boolean> = defineScript<boolean>({
  name: "renew-lease",
  lua: LUA,
  decode: (status) => (status === 1 ? true : status === 0 ? false : undefined),
});
