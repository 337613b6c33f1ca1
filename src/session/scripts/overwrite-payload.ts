import { NOW_MS } from "../../redis/lua-clock.js";
import { defineScript, type Script } from "../../redis/script.js";

const LUA = `
-- overwrite-payload: stores plain data given to set() by hand. The head that is there stays, so such a call can log
-- nobody in and nobody over; where there is none, the session is anonymous.
-- KEYS[1] session record
-- ARGV[1] payload   ARGV[2] time to live, ms   ARGV[3] head of an anonymous session
-- ARGV[4] longest life of a login, ms, or ''; one of unknown time keeps the time it has left
-- reply {1} written · {2} removed: the login's time is over
${NOW_MS}
local head = ARGV[3]
local ttl = tonumber(ARGV[2])
local record = redis.pcall('GET', KEYS[1])
if type(record) == 'string' then
  local user, generation, meta = string.match(record, '^([^,{]*),(%d*),([^,{]*),.')
  if not user then
    user, generation = string.match(record, '^([^,{]*),(%d*)$')
    meta = ''
  end
  if user and (user == '') == (generation == '') then
    head = user .. ',' .. generation .. ',' .. meta .. ','
    if user ~= '' and ARGV[4] ~= '' then
      local at = string.match(';' .. meta, ';at=(%d+)')
      local left = redis.call('PTTL', KEYS[1])
      if at then left = math.max(0, tonumber(at) + tonumber(ARGV[4]) - now_ms()) end
      if left >= 0 and left < ttl then ttl = left end
    end
  end
end
if ttl <= 0 then
  redis.call('DEL', KEYS[1])
  return {2}
end
redis.call('SET', KEYS[1], head .. ARGV[1], 'PX', string.format('%.0f', ttl))
return {1}
`;

export const overwritePayload: Script<"written" | "removed"> = defineScript<"written" | "removed">({
  name: "overwrite-payload",
  lua: LUA,
  decode: (status) => (status === 1 ? "written" : status === 2 ? "removed" : undefined),
});
