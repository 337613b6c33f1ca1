import { NOW_MS } from "../../redis/lua-clock.js";
import { defineScript, type Script } from "../../redis/script.js";

export type ClaimReply =
  /** This request runs; `attempt` counts the runs that were begun under the key. */
  | { readonly kind: "run"; readonly attempt: number }
  | { readonly kind: "replay"; readonly response: string }
  /** Another request runs and its lease has so long to go. */
  | { readonly kind: "in_progress"; readonly leaseLeftMs: number }
  | { readonly kind: "mismatch" }
  /** A run passed its point of no return and never told how it ended. */
  | { readonly kind: "outcome_unknown" }
  | { readonly kind: "corrupt" };

const LUA = `
-- claim-key: decides in one step what becomes of a request with an idempotency key. A life is counted from the first
-- claim: nothing here extends it.
-- KEYS[1] record of the key
-- ARGV[1] the request's nonce   ARGV[2] its fingerprint   ARGV[3] lease, ms   ARGV[4] time to live, ms
-- ARGV[5] '1' if a run that never ended may be taken over while it has not committed
-- reply {1, attempt} run · {2, response} replay · {3, lease left, ms} in progress · {4} other request under this key
--       {5} outcome unknown · {6} not a record of ours
${NOW_MS}
local now = now_ms()
local function take(attempt)
  redis.call('HSET', KEYS[1], 'state', 'running', 'owner', ARGV[1], 'print', ARGV[2],
    'lease', string.format('%.0f', now + tonumber(ARGV[3])), 'attempt', attempt)
  return {1, attempt}
end
if redis.call('EXISTS', KEYS[1]) == 0 then
  local reply = take('1')
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
  return reply
end
local record = redis.pcall('HMGET', KEYS[1], 'state', 'owner', 'print', 'lease', 'attempt', 'committed', 'response')
local state, owner, print, lease, attempt = record[1], record[2], record[3], record[4], record[5]
if not state or not owner or not print then return {6} end
if print ~= ARGV[2] then return {4} end
if state == 'done' then
  if not record[7] then return {6} end
  return {2, record[7]}
end
if state ~= 'running' or not lease or not tonumber(lease) or not attempt or not tonumber(attempt) then return {6} end
if owner == ARGV[1] then return {1, attempt} end
local left = tonumber(lease) - now
if left > 0 then return {3, string.format('%.0f', left)} end
if record[6] or ARGV[5] ~= '1' then return {5} end
return take(string.format('%.0f', tonumber(attempt) + 1))
`;

export const claimKey: Script<ClaimReply> = defineScript<ClaimReply>({
  name: "claim-key",
  lua: LUA,
  decode: (status, [value]) => {
    switch (status) {
      case 1:
        return { kind: "run", attempt: Number(value) };
      case 2:
        return typeof value === "string" ? { kind: "replay", response: value } : undefined;
      case 3:
        return { kind: "in_progress", leaseLeftMs: Number(value) };
      case 4:
        return { kind: "mismatch" };
      case 5:
        return { kind: "outcome_unknown" };
      default:
        return status === 6 ? { kind: "corrupt" } : undefined;
    }
  },
});
