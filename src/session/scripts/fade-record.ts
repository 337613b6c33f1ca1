import { defineScript, type Script } from "../../redis/script.js";
import { HAS_HEAD } from "./lua-parts.js";

/** How long a stale record still stays once it was seen to be stale. */
export const FADE_MS = 10_000;

const LUA = `
-- fade-record: a stale record need not stay for its whole life. It is not deleted at once: the request that logs out all
-- others has raised the generation a moment ago and is about to take this very record as the proof that it may stay.
-- KEYS[1] session record
-- ARGV[1] the stale head   ARGV[2] '1' if that is a bare user,generation
-- reply {1}
${HAS_HEAD}
if has_head(ARGV[1], ARGV[2] == '1') then
  local left = redis.call('PTTL', KEYS[1])
  if left < 0 or left > ${FADE_MS} then redis.call('PEXPIRE', KEYS[1], '${FADE_MS}') end
end
return {1}
`;

export const fadeRecord: Script<true> = defineScript<true>({
  name: "fade-record",
  lua: LUA,
  decode: (status) => (status === 1 ? true : undefined),
});
