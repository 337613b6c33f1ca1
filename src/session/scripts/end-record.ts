import { defineScript, type Script } from "../../redis/script.js";

/** Longest beginning of a record that is read to learn its head: user ID, generation and a generous meta. */
const HEAD_BYTES = 1_024;

const LUA = `
-- end-record: deletes a session's record and says how it began, so that the very same record can be deleted again if a
-- failover brings it back.
-- KEYS[1] session record
-- reply {1, beginning of the record} deleted · {0} there was none, or something that is no record was deleted
if redis.call('EXISTS', KEYS[1]) == 0 then return {0} end
local beginning = redis.pcall('GETRANGE', KEYS[1], 0, ${HEAD_BYTES - 1})
redis.call('DEL', KEYS[1])
if type(beginning) ~= 'string' then return {0} end
return {1, beginning}
`;

/** The beginning of the record that was deleted; empty if there was none. */
export const endRecord: Script<string> = defineScript<string>({
  name: "end-record",
  lua: LUA,
  decode: (status, [beginning]) => {
    if (status === 1 && typeof beginning === "string") return beginning;
    return status === 0 ? "" : undefined;
  },
});
