import { PUT } from "../../redis/lua-put.js";

/**
 * A live token holds what it is bound to (base64url, no comma). A spent one holds its tombstone: `spent,<nonce>`, and once
 * the request has said that it took effect `spent,<nonce>,committed,<location>`.
 */
export const SPENT = "spent,";
export const COMMITTED = ",committed,";

/**
 * replace(value): puts another value in the token's place for the rest of its life, also at maxmemory. A token without an end, put there by hand, gets ten minutes.
 */
export const REPLACE: string = `
${PUT}
local function replace(value)
  local left = redis.call('PTTL', KEYS[1])
  if left < 1 then left = 600000 end
  put(value, 'PX', string.format('%.0f', left))
end`;
