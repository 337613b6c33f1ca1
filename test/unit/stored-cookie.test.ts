import { expect, test } from "vitest";
import {
  cookieChange,
  cookieEnd,
  onlyCookieDiffers,
  startsWithCookie,
  withCookie,
} from "../../src/session/stored-cookie.js";

const PREFIX = '{"cookie":{"originalMaxAge":5}';
const OTHER = '{"cookie":{"domain":"}\\"{","a":{"b":{}}}';
/** Laid out by another writer: the cookie does not come first. */
const FOREIGN = '{"a":12345,"cookie":{"path":"/x"}}';

test.each([
  [`${PREFIX}}`, true],
  [`${PREFIX},"a":1}`, true],
  [PREFIX, false],
  [`${PREFIX} ,"a":1}`, false],
  ['{"cookie":{"originalMaxAge":6},"a":1}', false],
  [`{"a":1,"b":${PREFIX}}`, false],
])("stored cookie: %s starts with the cookie: %s", (payload, expected) => {
  expect(startsWithCookie(payload, PREFIX)).toBe(expected);
});

test.each([
  [`${PREFIX},"a":1}`, PREFIX.length],
  [`${OTHER},"a":{}}`, OTHER.length],
  [FOREIGN, -1],
  ['{"cookie":null,"a":{}}', -1],
  [PREFIX.slice(0, -1), -1],
  ["", -1],
])("stored cookie: of %s the cookie ends at %i", (payload, end) => {
  expect(cookieEnd(payload)).toBe(end);
});

test.each([
  [`${OTHER},"a":[1, 2]}`, `${PREFIX},"a":[1, 2]}`],
  [`${OTHER}}`, `${PREFIX}}`],
  [FOREIGN, `${PREFIX},"a":12345}`],
  ["no JSON", undefined],
])("stored cookie: %s under another cookie is %s", (payload, expected) => {
  expect(withCookie(payload, PREFIX)).toBe(expected);
});

test.each([
  [`${OTHER},"a":1}`, `${PREFIX},"a":1}`, true],
  [`${OTHER},"a":1}`, `${PREFIX},"a":2}`, false],
  [FOREIGN, FOREIGN, false],
  [undefined, `${PREFIX}}`, false],
])("stored cookie: %s and %s differ in the cookie only: %s", (stored, payload, expected) => {
  expect(onlyCookieDiffers(stored, payload)).toBe(expected);
});

test.each([
  [`${OTHER},"a":1}`, { from: OTHER, to: PREFIX }],
  [FOREIGN, { from: FOREIGN, to: `${PREFIX},"a":12345}` }],
  ["no JSON", undefined],
])("stored cookie: what changes in %s", (stored, expected) => {
  expect(cookieChange(stored, PREFIX)).toEqual(expected);
});
