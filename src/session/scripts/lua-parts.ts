/**
 * Pieces that several scripts share, pasted into their text. They run on Redis ≥ 7, Valkey ≥ 7.2 and ioredis-mock, whose Lua
 * has 32-bit integers: clock arithmetic therefore multiplies by float literals (`1e6`).
 */

/**
 * `has_head(head, bare)`: does the record under KEYS[1] have this head? Reads no more than the head's length. A bare head
 * (`user,generation`) matches a record that is just that, or that another request saved since (`user,generation,,…`).
 */
export const HAS_HEAD = `
local function has_head(head, bare)
  if redis.call('EXISTS', KEYS[1]) == 0 then return false end
  local got = redis.pcall('GETRANGE', KEYS[1], 0, #head + (bare and 1 or -1))
  if type(got) ~= 'string' then return false end
  if not bare then return string.sub(got, 1, #head) == head end
  return got == head or string.sub(got, 1, #head + 2) == head .. ',,'
end`;

/**
 * `own_at(before, after, at)`: the login time in the record under KEYS[1] if its head is `before`, a time as long as `at`, `after`:
 * a nonce in it makes that the caller's own write. `nil` if it is not.
 */
export const OWN_AT = `
local function own_at(before, after, at)
  if redis.call('EXISTS', KEYS[1]) == 0 then return nil end
  local got = redis.pcall('GETRANGE', KEYS[1], 0, #before + #at + #after - 1)
  if type(got) ~= 'string' or string.sub(got, 1, #before) ~= before then return nil end
  if string.sub(got, #before + #at + 1, #before + #at + #after) ~= after then return nil end
  return string.sub(got, #before + 1, #before + #at)
end`;

/** `usable(v)`: is this a generation that INCR can raise? Same rule as GENERATION in record.ts. */
export const USABLE = `
local function usable(v)
  return type(v) == 'string' and #v <= 18 and (v == '0' or string.match(v, '^[1-9]%d*$') ~= nil)
end`;
