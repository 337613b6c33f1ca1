import { defineScript, type Script } from "../../redis/script.js";
import { REPLACE, SPENT } from "./lua-parts.js";

/** `spent` carries the tombstone another request left. */
export type SpendReply =
  | { readonly kind: "mine" }
  | { readonly kind: "unknown" }
  | { readonly kind: "foreign" }
  | { readonly kind: "spent"; readonly tombstone: string };

const LUA = `
-- spend-token: checks and spends a token in one step: of any number of requests exactly one gets it. The tombstone names
-- that request, so that its command, sent again by the driver after a lost reply, is not taken for a duplicate.
-- KEYS[1] token
-- ARGV[1] what the token must be bound to   ARGV[2] the request's nonce
-- reply {1} spent by this request · {0} no such token · {2, tombstone} spent by another request · {3} bound to something else
${REPLACE}
local value = redis.pcall('GET', KEYS[1])
if type(value) ~= 'string' then return {0} end
local tombstone = '${SPENT}' .. ARGV[2]
if value == ARGV[1] then
  replace(tombstone)
  return {1}
end
if value == tombstone then return {1} end
if string.sub(value, 1, ${SPENT.length}) == '${SPENT}' then return {2, value} end
return {3}
`;

export const spendToken: Script<SpendReply> = defineScript<SpendReply>({
  name: "spend-token",
  lua: LUA,
  decode: (status, [tombstone]) => {
    if (status === 0) return { kind: "unknown" };
    if (status === 1) return { kind: "mine" };
    if (status === 2 && typeof tombstone === "string") return { kind: "spent", tombstone };
    return status === 3 ? { kind: "foreign" } : undefined;
  },
});
