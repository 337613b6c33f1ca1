import { defineScript, type Script } from "../../redis/script.js";

const LUA = `
-- overwrite-payload: stores plain data given to set() by hand. The head that is there stays, so such a call can log
-- nobody in and nobody over; where there is none, the session is anonymous.
-- KEYS[1] session record
-- ARGV[1] payload   ARGV[2] time to live, ms   ARGV[3] head of an anonymous session
-- reply {1} written
local head = ARGV[3]
local record = redis.pcall('GET', KEYS[1])
if type(record) == 'string' then
  local user, generation, meta = string.match(record, '^([^,{]*),(%d*),([^,{]*),.')
  if not user then
    user, generation = string.match(record, '^([^,{]*),(%d*)$')
    meta = ''
  end
  if user and (user == '') == (generation == '') then head = user .. ',' .. generation .. ',' .. meta .. ',' end
end
redis.call('SET', KEYS[1], head .. ARGV[1], 'PX', ARGV[2])
return {1}
`;

export const overwritePayload: Script<true> = defineScript<true>({
  name: "overwrite-payload",
  lua: LUA,
  decode: (status) => (status === 1 ? true : undefined),
});
