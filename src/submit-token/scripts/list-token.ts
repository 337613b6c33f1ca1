import { NOW_US } from "../../redis/lua-clock.js";
import { defineScript, type Script } from "../../redis/script.js";

const LUA = `
-- list-token: notes a token in its session's index, oldest first, and takes out those beyond the cap.
-- KEYS[1] the session's index
-- ARGV[1] token   ARGV[2] the token's time to live, ms   ARGV[3] how many tokens may be live
-- reply {1, tokens taken out…}
${NOW_US}
redis.call('ZADD', KEYS[1], string.format('%.0f', now_us()), ARGV[1])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
local over = redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[3])
local reply = {1}
if over > 0 then
  local oldest = redis.call('ZRANGE', KEYS[1], 0, over - 1)
  for _, token in ipairs(oldest) do
    redis.call('ZREM', KEYS[1], token)
    reply[#reply + 1] = token
  end
end
return reply
`;

/** The tokens that are over the cap now; whoever asked deletes them. */
export const listToken: Script<readonly string[]> = defineScript<readonly string[]>({
  name: "list-token",
  lua: LUA,
  decode: (status, tokens) => (status === 1 ? tokens.map(String) : undefined),
});
