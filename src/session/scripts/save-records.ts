import { defineScript, type Script } from "../../redis/script.js";

/** What became of one record: written, fenced (another head, or gone), or the error reply of the server. */
export type SaveReply = "1" | "0" | (string & {});

const LUA = `
-- save-records: replaces the payloads of records that still have the head they were loaded with (compare-and-set), each for
-- itself: what becomes of one says nothing of the others. Saves of one moment share one call; on a cluster it has one key.
-- KEYS[n] session record
-- ARGV[3n-2] head it must have   ARGV[3n-1] new record: the same head and a payload   ARGV[3n] time to live, ms
-- reply {1, for each key: '1' written · '0' the head differs or the record is gone · the server's refusal}
local saved = {}
for n = 1, #KEYS do
  local key, head = KEYS[n], ARGV[3 * n - 2]
  if redis.pcall('GETRANGE', key, 0, #head - 1) ~= head then
    saved[n] = '0'
  else
    local set = redis.pcall('SET', key, ARGV[3 * n - 1], 'PX', ARGV[3 * n])
    saved[n] = set.err or '1'
  end
end
return {1, unpack(saved)}
`;

export const saveRecords: Script<readonly SaveReply[]> = defineScript<readonly SaveReply[]>({
  name: "save-records",
  lua: LUA,
  decode: (status, replies) => (status === 1 ? replies.map(String) : undefined),
});
