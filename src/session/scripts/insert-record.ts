import { NOW_MS } from "../../redis/lua-clock.js";
import { defineScript, type Script } from "../../redis/script.js";
import { OWN_AT } from "./lua-parts.js";

/** `written` carries the login time for a head that has one to fill in. */
export type InsertReply = { readonly kind: "written"; readonly at: string } | { readonly kind: "taken" };

const LUA = `
-- insert-record: writes a new session's record, if the key is free or already holds a record with our own nonce
-- (the driver sent the command again, or an earlier try of ours got no answer).
-- KEYS[1] session record
-- ARGV[1] head up to the login time   ARGV[2] head after it, '' if the head has no time to fill in
-- ARGV[3] payload                     ARGV[4] time to live, ms
-- reply {1, login time or ''} written · {0} the key holds something else
${NOW_MS}
${OWN_AT}
local before, after = ARGV[1], ARGV[2]
local at = ''
if after ~= '' then at = string.format('%.0f', now_ms()) end
if redis.call('EXISTS', KEYS[1]) == 1 then
  at = own_at(before, after, at)
  if not at then return {0} end
end
redis.call('SET', KEYS[1], before .. at .. after .. ARGV[3], 'PX', ARGV[4])
return {1, at}
`;

export const insertRecord: Script<InsertReply> = defineScript<InsertReply>({
  name: "insert-record",
  lua: LUA,
  decode: (status, [at]) => {
    if (status === 1 && typeof at === "string") return { kind: "written", at };
    return status === 0 ? { kind: "taken" } : undefined;
  },
});
