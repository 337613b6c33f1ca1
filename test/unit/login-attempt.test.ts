import { expect, test } from "vitest";
import { LoginAttempt } from "../../src/session/login-attempt.js";

test("login attempt: as text and back", () => {
  const attempt = new LoginAttempt("7%2C5", "3");
  expect([String(attempt), JSON.stringify({ attempt })]).toEqual([
    "attempt1,7%2C5,3",
    '{"attempt":"attempt1,7%2C5,3"}',
  ]);
  expect(LoginAttempt.read(LoginAttempt.parse("attempt1,7%2C5,3"))).toEqual({ userText: "7%2C5", generation: "3" });
});

test.each([
  [undefined, "undefined"],
  [null, "null"],
  [7, "a number"],
  ["", "other text"],
  ["attempt2,mira,3", "other text"],
  [" attempt1,mira,3", "other text"],
  ["xattempt1,mira,3", "other text"],
  ["mira,3", "other text"],
  ["attempt1,", "other text"],
  ["attempt1,mira", "other text"],
  ["attempt1,,3", "other text"],
  ["attempt1,mi ra,3", "other text"],
  ["attempt1,mira,03", "other text"],
  ["attempt1,mira,", "other text"],
  ["attempt1,mira,3,", "other text"],
  [new LoginAttempt("mira", "3"), "an object"],
])("login attempt: %j is the text of none", (text, got) => {
  const message = `resumeLogin: expected the text of a login attempt, got ${got}`;
  expect(() => LoginAttempt.parse(text)).toThrow(expect.objectContaining({ code: "ERR_INVALID_ARG_VALUE", message }));
});

test.each([[undefined], [null], ["attempt1,mira,3"], [{}], [{ userText: "mira", generation: "3" }]])(
  "login attempt: %j is none",
  (value) => {
    expect(LoginAttempt.read(value)).toBeUndefined();
  },
);
