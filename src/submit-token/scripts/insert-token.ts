import { defineScript, type Script } from "../../redis/script.js";

const LUA = `
-- insert-token: stores a new token. NX, so that no token is ever given to two; the same command sent again by the driver
-- finds its own work.
-- KEYS[1] token
-- ARGV[1] what the token is bound to   ARGV[2] time to live, ms
-- reply {1} stored · {0} the key holds something else
if redis.call('EXISTS', KEYS[1]) == 1 then
  if redis.pcall('GET', KEYS[1]) == ARGV[1] then return {1} end
  return {0}
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX')
return {1}
`;

/** True if the token is stored. */
export const insertToken: Script<boolean> = defineScript<boolean>({
  name: "insert-token",
  lua: LUA,
  decode: (status) => (status === 1 ? true : status === 0 ? false : undefined),
});
