import { defineScript, type Script } from "../../redis/script.js";
import { HAS_HEAD } from "./lua-parts.js";

const LUA = `
-- delete-record: removes a record if it still has the head the caller has seen.
-- KEYS[1] session record
-- ARGV[1] head it must have   ARGV[2] '1' if that is a bare user,generation
-- reply {1} deleted · {0} the head differs or the record is gone
${HAS_HEAD}
if not has_head(ARGV[1], ARGV[2] == '1') then return {0} end
redis.call('DEL', KEYS[1])
return {1}
`;

/** True if this call deleted the record. */
export const deleteRecord: Script<boolean> = defineScript<boolean>({
  name: "delete-record",
  lua: LUA,
  decode: (status) => (status === 1 ? true : status === 0 ? false : undefined),
});
