import { NOW_MS } from "../../redis/lua-clock.js";
import { defineScript, type Script } from "../../redis/script.js";
import { HAS_HEAD, OWN_AT } from "./lua-parts.js";

export type UpdateReply =
  | { readonly kind: "written"; readonly at: string }
  | { readonly kind: "removed" }
  | { readonly kind: "fenced" };

const LUA = `
-- update-record: replaces a session's record if it still has the head it was loaded with (compare-and-set). A new head has a
-- nonce, by which the same command is recognised when the driver sent it again.
-- KEYS[1] session record
-- ARGV[1] head it must have          ARGV[2] '1' if that is a bare user,generation
-- ARGV[3] new head up to the login time   ARGV[4] new head after it, '' if there is no time to fill in
-- ARGV[5] payload
-- ARGV[6] time to live, ms; '0' removes the record, '' keeps the time it has left
-- ARGV[7] latest end of its life, epoch ms, or ''
-- reply {1, login time or ''} written · {2} removed · {0} the head differs or the record is gone
${HAS_HEAD}
${NOW_MS}
${OWN_AT}
local at = ''
if ARGV[4] ~= '' then at = string.format('%.0f', now_ms()) end
if not has_head(ARGV[1], ARGV[2] == '1') then
  local written = own_at(ARGV[3], ARGV[4], at)
  if written then return {1, written} end
  return {0}
end
local ttl = ARGV[6]
if ttl == '' then ttl = redis.call('PTTL', KEYS[1]) end
ttl = tonumber(ttl)
if ARGV[7] ~= '' then
  local left = tonumber(ARGV[7]) - now_ms()
  if left < ttl then ttl = left end
end
if ttl == 0 or (ttl < 0 and ARGV[6] ~= '') then
  redis.call('DEL', KEYS[1])
  return {2}
end
local record = ARGV[3] .. at .. ARGV[4] .. ARGV[5]
if ttl < 0 then
  redis.call('SET', KEYS[1], record)
else
  redis.call('SET', KEYS[1], record, 'PX', string.format('%.0f', ttl))
end
return {1, at}
`;

export const updateRecord: Script<UpdateReply> = defineScript<UpdateReply>({
  name: "update-record",
  lua: LUA,
  decode: (status, [at]) => {
    if (status === 1 && typeof at === "string") return { kind: "written", at };
    if (status === 2) return { kind: "removed" };
    return status === 0 ? { kind: "fenced" } : undefined;
  },
});
