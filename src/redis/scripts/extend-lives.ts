import { defineScript, type Script } from "../script.js";

const LUA = `
-- extend-lives: gives keys new times to live, each for itself; shortens none and creates none.
-- KEYS[n] key
-- ARGV[2n-1] time to live, ms   ARGV[2n] latest end of its life, epoch ms, or ''
-- reply {1}
for n = 1, #KEYS do
  redis.call('PEXPIRE', KEYS[n], ARGV[2 * n - 1], 'GT')
  if ARGV[2 * n] ~= '' then redis.call('PEXPIREAT', KEYS[n], ARGV[2 * n], 'LT') end
end
return {1}
`;

/** For many keys at once: as commands of their own they would cost the client several times as much. */
export const extendLives: Script<true> = defineScript<true>({
  name: "extend-lives",
  lua: LUA,
  decode: (status) => (status === 1 ? true : undefined),
});
