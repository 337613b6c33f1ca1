/**
 * `put(value, …)`: SET of KEYS[1] that also works at maxmemory, where Redis allows it only to a script that has written before:
 * there DEL comes first. Nowhere else: while a cluster moves the key's slot, a key that was deleted could not be set here
 * again ("-ASK"), and the script would end with the key lost.
 */
export const PUT = `
local function put(...)
  local done = redis.pcall('SET', KEYS[1], ...)
  if not done.err then return end
  if string.find(done.err, 'OOM', 1, true) then redis.call('DEL', KEYS[1]) end
  redis.call('SET', KEYS[1], ...)
end`;
