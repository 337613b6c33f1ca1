import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeText, decodeUserText, encodeUserId, MAX_USER_ID_BYTES } from "../../src/session/user-id.js";

/** What the contract says may not stand literally in a record's head or in a key. */
const NEVER_LITERAL = /[%,{}*?[\]\\ \p{Cc}]/u;

const anyUserId = fc
  .oneof(
    fc.string({ minLength: 1, maxLength: 40, unit: "binary" }),
    fc.string({ minLength: 1, maxLength: 40, unit: fc.constantFrom(..."%,{}*?[]\\ \n\0;=:|/+a%2C%25é👩‍🚀\ufffd") }),
    fc.string({ minLength: 1, maxLength: 60, unit: "grapheme" }),
  )
  .filter((text) => !/\p{Surrogate}/u.test(text) && textBytes(text) <= MAX_USER_ID_BYTES);

function textBytes(text: string): number {
  return Buffer.byteLength(text) * 3;
}

test("user ID encoding: round trip for any well-formed text", () => {
  fc.assert(
    fc.property(anyUserId, (userId) => {
      const text = encodeUserId("test", userId);
      expect(decodeUserText(text)).toBe(userId);
    }),
    { numRuns: 1_000 },
  );
});

test("user ID encoding: no separator, glob, brace, space or control character stands literally", () => {
  fc.assert(
    fc.property(anyUserId, (userId) => {
      const text = encodeUserId("test", userId);
      expect(text.replaceAll(/%[0-9A-F]{2}/g, "")).not.toMatch(NEVER_LITERAL);
    }),
    { numRuns: 1_000 },
  );
});

test("user ID encoding: two users never share a text (injective)", () => {
  fc.assert(
    fc.property(anyUserId, anyUserId, (one, other) => {
      expect(encodeUserId("test", one) === encodeUserId("test", other)).toBe(one === other);
    }),
    { numRuns: 1_000 },
  );
});

test("user ID encoding: only the canonical text of a user is accepted", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 30, unit: fc.constantFrom(..."%2CcC5eaAé,{ \n0f;=") }), (text) => {
      const userId = decodeUserText(text);
      if (userId !== undefined) expect(encodeUserId("test", userId)).toBe(text);
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  ["100", "100"],
  ["auth0|5f", "auth0|5f"],
  ["mira+x@ex.org", "mira+x@ex.org"],
  ["a:b:c", "a:b:c"],
  ["../x", "../x"],
  ["7,5", "7%2C5"],
  ["100%", "100%25"],
  ["{a}", "%7Ba%7D"],
  ["*?[a-z]\\", "%2A%3F%5Ba-z%5D%5C"],
  ["a b", "a%20b"],
  ["line\nbreak", "line%0Abreak"],
  ["nul\0x", "nul%00x"],
  ["\u007f\u0085", "%7F%C2%85"],
  ["José", "José"],
  ["Jose\u0301", "Jose\u0301"],
  ["👩‍🚀", "👩‍🚀"],
])("user ID vector: %j is written %j", (userId, text) => {
  expect(encodeUserId("test", userId)).toBe(text);
  expect(decodeUserText(text)).toBe(userId);
});

test("user ID: a safe integer, a bigint and their decimal text are one user", () => {
  expect(encodeUserId("test", 7)).toBe("7");
  expect(encodeUserId("test", 7n)).toBe("7");
  expect(encodeUserId("test", "7")).toBe("7");
  expect(encodeUserId("test", -0)).toBe("0");
  expect(encodeUserId("test", -3)).toBe("-3");
  expect(encodeUserId("test", 2n ** 70n)).toBe("1180591620717411303424");
});

test.each([
  ["lower-case hex", "7%2c5"],
  ["needlessly encoded", "%61"],
  ["cut escape", "7%2"],
  ["no escape", "7%zz"],
  ["bytes that are no UTF-8", "%FF"],
  ["overlong UTF-8", "%C0%AC"],
  ["an encoded surrogate", "%ED%A0%BD"],
  ["a literal brace", "a{b"],
  ["a literal space", "a b"],
  ["empty", ""],
])("user ID: a text that is not canonical (%s) is nobody's", (_what, text) => {
  expect(decodeUserText(text)).toBeUndefined();
});

test("user ID: 512 bytes when encoded is the limit, whatever the characters", () => {
  for (const unit of ["a", "é", "👩", "%", "\n", "{"]) {
    const unitBytes = Buffer.byteLength(encodeUserId("test", unit));
    const most = Math.floor(MAX_USER_ID_BYTES / unitBytes);
    const longest = unit.repeat(most);
    expect(decodeUserText(encodeUserId("test", longest))).toBe(longest);
    expect(() => encodeUserId("test", unit.repeat(most + 1))).toThrow(/at most 512 bytes when encoded/);
  }
  expect(decodeUserText("a".repeat(513))).toBeUndefined();
});

test("any text: decoding never throws", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 50 }), (text) => {
      expect(typeof decodeText(text)).toMatch(/^(?:string|undefined)$/);
    }),
  );
});

test.each([
  ["", "ERR_INVALID_ARG_TYPE", /^here: expected a user ID \(a non-empty string, .*\), got /],
  [undefined, "ERR_INVALID_ARG_TYPE", /got undefined/],
  [null, "ERR_INVALID_ARG_TYPE", /got null/],
  [1.5, "ERR_INVALID_ARG_TYPE", /^here: /],
  [2 ** 53, "ERR_INVALID_ARG_TYPE", /^here: /],
  [true, "ERR_INVALID_ARG_TYPE", /got /],
  [["7"], "ERR_INVALID_ARG_TYPE", /got /],
  ["\ud800", "ERR_INVALID_ARG_VALUE", /^here: .* got a lone surrogate/],
  ["x".repeat(513), "ERR_INVALID_ARG_VALUE", /^here: .* at most 512 bytes/],
])("user ID: %j is none, and the error says so (%s)", (value, code, message) => {
  const error = expect.objectContaining({ code, message: expect.stringMatching(message) });
  expect(() => encodeUserId("here", value)).toThrow(error);
});
