/** Redis' own clock, for scripts of all features. ioredis-mock's Lua has 32-bit integers: hence the float literals. */

/** `now_ms()`: Redis' clock in epoch milliseconds. */
export const NOW_MS = `
local function now_ms()
  local t = redis.call('TIME')
  return t[1] * 1e3 + math.floor(t[2] / 1e3)
end`;

/** `now_us()`: Redis' clock in epoch microseconds. */
export const NOW_US = `
local function now_us()
  local t = redis.call('TIME')
  return t[1] * 1e6 + t[2]
end`;
