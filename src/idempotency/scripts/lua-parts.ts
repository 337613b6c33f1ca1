/**
 * The record of an idempotency key is a hash. `state`: `running` or `done`; `owner`: nonce of the request that runs or ran;
 * `print`: fingerprint of the request; `lease`: until when the owner counts as alive, epoch ms on Redis' clock; `attempt`: how
 * often it was begun; `committed`: `1` once the owner has passed its point of no return; `response`: the stored answer.
 */

/** `owns(nonce)`: does the request with this nonce run under KEYS[1]? */
export const OWNS = `
local function owns(nonce)
  local record = redis.pcall('HMGET', KEYS[1], 'state', 'owner')
  return record[1] == 'running' and record[2] == nonce
end`;
