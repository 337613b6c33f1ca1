import fc from "fast-check";
import { expect, test } from "vitest";
import {
  anonymousHead,
  encodeMetaValue,
  freshLoginHead,
  headOfSavedBare,
  inheritedLoginHead,
  isGeneration,
  newLogin,
  parseRecord,
  userIdOf,
  writtenHead,
  writtenLogin,
} from "../../src/session/record.js";
import { encodeUserId } from "../../src/session/user-id.js";

const userId = fc
  .string({ minLength: 1, maxLength: 30, unit: "grapheme" })
  .filter((text) => !/\p{Surrogate}/u.test(text));
const generation = fc.bigInt({ min: 0n, max: 999_999_999_999_999_999n }).map(String);
const nonce = fc.uint8Array({ minLength: 9, maxLength: 9 }).map((bytes) => Buffer.from(bytes).toString("base64url"));
const at = fc.integer({ min: 1, max: 9_999_999_999_999 });
const payload = fc.string({ minLength: 1, unit: "binary" });

test("record codec: what a login wrote is read back, whatever the user, generation, time and payload", () => {
  fc.assert(
    fc.property(userId, generation, at, nonce, payload, (user, stamped, time, random, data) => {
      const userText = encodeUserId("test", user);
      const template = freshLoginHead(userText, stamped, random);
      const head = `${template.before}${time}${template.after}`;
      expect(parseRecord(head + data)).toEqual({
        head,
        login: { userId: user, userText, generation: stamped, at: time },
        payload: data,
      });
    }),
  );
});

test("record codec: moving a login keeps user, generation and time", () => {
  fc.assert(
    fc.property(userId, generation, fc.option(at, { nil: undefined }), nonce, (user, stamped, time, random) => {
      const login = { userId: user, userText: encodeUserId("test", user), generation: stamped, at: time };
      const { before, after } = inheritedLoginHead(login, stamped, random);
      expect(parseRecord(`${before}${after}{}`)).toEqual({ head: before, login, payload: "{}" });
    }),
  );
});

test("record codec: an anonymous record names nobody, whatever its payload looks like", () => {
  fc.assert(
    fc.property(nonce, payload, (random, data) => {
      const { before, after } = anonymousHead(random);
      expect(parseRecord(`${before}${after}${data}`)).toEqual({ head: before, login: undefined, payload: data });
    }),
  );
});

test("record codec: any text is a record or undefined, never an error, and a record's parts make up the text", () => {
  const nearly = fc.string({ maxLength: 40, unit: fc.constantFrom(..."100,;=%2Cabnt{}-.") });
  fc.assert(
    fc.property(fc.oneof(nearly, fc.string({ unit: "binary" })), (text) => {
      const record = parseRecord(text);
      if (record === undefined) return;
      expect(record.head + (record.payload ?? "")).toBe(text);
      if (record.login !== undefined) {
        expect(encodeUserId("test", record.login.userId)).toBe(record.login.userText);
        expect(isGeneration(record.login.generation)).toBe(true);
      }
    }),
    { numRuns: 2_000 },
  );
});

test("record: `100,1` exactly is a login without time and payload", () => {
  expect(parseRecord("100,1")).toEqual({
    head: "100,1",
    login: { userId: "100", userText: "100", generation: "1", at: undefined },
    payload: undefined,
  });
  expect(parseRecord(`${headOfSavedBare("100,1")}{}`)).toEqual({
    head: "100,1,,",
    login: { userId: "100", userText: "100", generation: "1", at: undefined },
    payload: "{}",
  });
});

test.each([
  "",
  ",",
  ",,",
  ",,,",
  "100",
  "100,",
  "100,1,",
  "100,1,,",
  "100,1,n=x,",
  "100,1,{}",
  ",1",
  ",1,,{}",
  "100,,,{}",
  "100,abc",
  "100,-1",
  "100,1.5",
  "100,01",
  "100,+1",
  "100, 1",
  "100,1 ",
  "100,1e3",
  "100,1000000000000000000",
  "100,abc,,{}",
  "7%2c5,1",
  "a b,1",
  "{},1",
  "100,1,at,{}",
  "100,1,at=,{}",
  "100,1,at=x,{}",
  "100,1,at=0,{}",
  "100,1,at=-5,{}",
  "100,1,at=1;at=2,{}",
  "100,1,N=x,{}",
  "100,1,n1=x,{}",
  "100,1,=x,{}",
  "100,1,n=x;,{}",
  "100,1,;n=x,{}",
  "100,1,n=a=b,{}",
  "100,1,n=%61,{}",
  "100,1,n=a b,{}",
  "100,1,n=,{}",
  "100,1,n=%FF,{}",
  "100,1,1n=x,{}",
  "100,1,at=5x,{}",
  "100,1,at=12345678901234567,{}",
  "100,1,at=1700000000000;n=x,",
  " ,1,at=1700000000000;n=x,{}",
  "100,05,at=1700000000000;n=x,{}",
  "100,1a,at=1700000000000;n=x,{}",
  "100,1,at=0700000000000;n=x,{}",
  "100,1,at=1abcdefghijkl;n=x,{}",
  "100,1,at=1700000000000;n=;=,{}",
  '{"cookie":{"originalMaxAge":null,"expires":null},"a":1}',
  "[1,2]",
])("C11: %j is no record", (text) => {
  expect(parseRecord(text)).toBeUndefined();
});

test.each([
  "100,1,n=x,{}",
  "100,1,later=thing;n=x,{}",
  "100,1,n=a%3Bb%3Dc,{}",
  "100,0,,{}",
  "100,999999999999999999,,{}",
])("record: %j is one (unknown meta names are kept in the head)", (text) => {
  const record = parseRecord(text);
  expect(record?.payload).toBe("{}");
  expect(record?.head).toBe(text.slice(0, -2));
});

test("record: a meta value never breaks out of its place", () => {
  fc.assert(
    fc.property(userId, (value) => {
      const record = parseRecord(`100,1,n=${encodeMetaValue(value)};x=1,{}`);
      expect(record?.login?.userId).toBe("100");
      expect(record?.payload).toBe("{}");
    }),
  );
});

test.each([
  ["0", true],
  ["1", true],
  ["999999999999999999", true],
  ["1000000000000000000", false],
  ["00", false],
  ["01", false],
  ["-1", false],
  ["1.0", false],
  ["", false],
  ["1\n", false],
  ["١", false],
])("generation: %j usable: %s", (text, usable) => {
  expect(isGeneration(text)).toBe(usable);
});

test("generation: only text is one", () => {
  for (const value of [1, 1n, null, undefined, ["1"], { toString: () => "1" }]) expect(isGeneration(value)).toBe(false);
});

test("record: a head once it is written, and the login in it, have the time that the script filled in", () => {
  const login = newLogin("7%2C5", "3");
  expect(login).toEqual({ userId: "7,5", userText: "7%2C5", generation: "3", at: undefined });
  expect(writtenHead(freshLoginHead("7%2C5", "3", "abc"), "1700000000000")).toBe("7%2C5,3,at=1700000000000;n=abc,");
  expect(writtenLogin(login, "1700000000000")).toEqual({ ...login, at: 1_700_000_000_000 });
  expect(writtenLogin(login, "")).toBe(login);
  expect(writtenLogin(undefined, "1700000000000")).toBeUndefined();
  expect([userIdOf("7%2C5"), userIdOf("7%2c5")]).toEqual(["7,5", "7%2c5"]);
});
