import { expect, test } from "vitest";
import { keySlot } from "../../src/redis/key-slot.js";

test("C26: slots of keys whose braces other implementations read otherwise", () => {
  // What CLUSTER KEYSLOT of Redis 7.0 answers.
  const answered: Record<string, number> = {
    "user_login_age:{}z}": 6604,
    "{}{": 6400,
    "a{}b}c": 2041,
    "}{": 12_793,
    "user_login_age:zoë": 3413,
    "{zoë}x": 6658,
    "session:😀{é}": 10180,
    "123456789": 12_739,
    "": 0,
  };
  for (const [key, slot] of Object.entries(answered)) expect([key, keySlot(key)]).toEqual([key, slot]);
});

test("C26: only what stands in the first braces counts, unless that is empty", () => {
  expect(keySlot("a{b}c")).toBe(keySlot("b"));
  expect(keySlot("a{b}{c}")).toBe(keySlot("b"));
  expect(keySlot("a{{b}c}")).toBe(keySlot("{b"));
  expect(keySlot("a{}{b}")).not.toBe(keySlot("b"));
  expect(keySlot("a}b{c")).not.toBe(keySlot("c"));
});
