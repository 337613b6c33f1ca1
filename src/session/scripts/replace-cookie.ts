import { defineScript, type Script } from "../../redis/script.js";

export type ReplaceReply =
  | { readonly kind: "written" }
  | { readonly kind: "fenced" }
  /** The payload begins otherwise: another request changed the cookie, or another writer laid it out. */
  | { readonly kind: "differs"; readonly payload: string };

const LUA = `
-- replace-cookie: replaces the beginning of a record's payload (its cookie) and leaves the data behind it as it is,
-- also what other requests wrote there since.
-- KEYS[1] session record
-- ARGV[1] head it must have   ARGV[2] beginning the payload must have   ARGV[3] the beginning it gets
-- ARGV[4] time to live, ms; '' keeps the time it has left
-- reply {1} written · {0} the head differs or the record is gone · {2, payload} it begins otherwise
local record = redis.pcall('GET', KEYS[1])
if type(record) ~= 'string' then return {0} end
if string.sub(record, 1, #ARGV[1]) ~= ARGV[1] then return {0} end
local payload = string.sub(record, #ARGV[1] + 1)
if string.sub(payload, 1, #ARGV[2]) ~= ARGV[2] then return {2, payload} end
local ttl = ARGV[4]
if ttl == '' then ttl = redis.call('PTTL', KEYS[1]) end
local changed = ARGV[1] .. ARGV[3] .. string.sub(payload, #ARGV[2] + 1)
if tonumber(ttl) < 0 then
  redis.call('SET', KEYS[1], changed)
else
  redis.call('SET', KEYS[1], changed, 'PX', ttl)
end
return {1}
`;

export const replaceCookie: Script<ReplaceReply> = defineScript<ReplaceReply>({
  name: "replace-cookie",
  lua: LUA,
  decode: (status, [payload]) => {
    if (status === 1) return { kind: "written" };
    if (status === 2 && typeof payload === "string") return { kind: "differs", payload };
    return status === 0 ? { kind: "fenced" } : undefined;
  },
});
