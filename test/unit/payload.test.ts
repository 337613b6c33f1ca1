import session, { type SessionData } from "express-session";
import fc from "fast-check";
import { expect, test } from "vitest";
import { cookiePrefix, emptySessionData, parsePayload, serializeSession } from "../../src/session/payload.js";
import { cookieEnd, withCookie } from "../../src/session/stored-cookie.js";

const NOW_MS = 1_700_000_000_000;

/** Session data as a program writes it: any JSON under any names. */
const anyData = fc.dictionary(
  fc.oneof(fc.string(), fc.constantFrom("1", "42", "0", "cookies", "toJSON", "then", "__proto__", "constructor", "id")),
  fc.jsonValue(),
  { maxKeys: 6 },
);

const anyCookie = fc.record(
  {
    originalMaxAge: fc.oneof(fc.constant(null), fc.integer({ min: 1, max: 4e11 })),
    httpOnly: fc.boolean(),
    secure: fc.oneof(fc.boolean(), fc.constant("auto" as const)),
    path: fc.constantFrom("/", "/admin", '/"}{'),
    domain: fc.constantFrom("example.org", "a.b"),
    sameSite: fc.constantFrom(true, false, "lax", "strict", "none"),
    priority: fc.constantFrom("low", "medium", "high"),
    partitioned: fc.boolean(),
  },
  { requiredKeys: ["originalMaxAge"] },
);

interface Parsed {
  readonly cookie: Record<string, unknown>;
  readonly [name: string]: unknown;
}

function parsed(payload: string): Parsed {
  const data = parsePayload(payload, NOW_MS);
  if (typeof data === "string") throw new Error(`payload is ${data}`);
  return data as unknown as Parsed;
}

/** A session as express-session makes it from what a store returned. */
function inflated(data: object): Record<string, unknown> {
  const store = new session.MemoryStore();
  const req = { sessionStore: store, sessionID: "x" };
  return store.createSession(req as never, structuredClone(data) as SessionData) as unknown as Record<string, unknown>;
}

function enumerable(target: object): unknown {
  const { cookie: _cookie, ...data } = target as Record<string, unknown>;
  return JSON.parse(JSON.stringify(data));
}

test("payload: any JSON data comes back as express-session would have shown it", () => {
  fc.assert(
    fc.property(anyData, anyCookie, (data, cookie) => {
      const stored = { ...data, cookie: { ...cookie, expires: null } };
      const expected = inflated(JSON.parse(JSON.stringify(stored)));
      delete expected["toJSON"];
      expect(enumerable(inflated(parsed(serializeSession(stored))))).toEqual(enumerable(expected));
    }),
    { numRuns: 500 },
  );
});

test("payload: the cookie comes back with all its attributes, express-session's defaults left out in between", () => {
  fc.assert(
    fc.property(anyCookie, (cookie) => {
      const defaults = { path: "/", httpOnly: true };
      const read = parsed(serializeSession({ cookie })).cookie;
      const expires = cookie.originalMaxAge === null ? null : new Date(NOW_MS + cookie.originalMaxAge);
      expect(read).toEqual({ ...defaults, ...cookie, expires });
    }),
    { numRuns: 300 },
  );
});

test("payload: stored again unchanged it is the same text, so an unchanged session is recognised", () => {
  fc.assert(
    fc.property(anyData, anyCookie, (data, cookie) => {
      const text = serializeSession({ ...data, cookie });
      expect(serializeSession(parsed(text))).toBe(text);
      expect(serializeSession(inflated(parsed(text)))).toBe(text);
    }),
    { numRuns: 500 },
  );
});

test("payload: the cookie always comes first, also before names that look like numbers", () => {
  fc.assert(
    fc.property(anyData, anyCookie, anyCookie, (data, cookie, other) => {
      const text = serializeSession({ ...data, cookie });
      expect(text.startsWith(cookiePrefix(cookie))).toBe(true);
      expect(cookieEnd(text)).toBe(cookiePrefix(cookie).length);
      expect(withCookie(text, cookiePrefix(other))).toBe(serializeSession({ ...data, cookie: other }));
    }),
    { numRuns: 500 },
  );
});

test("payload: any text never throws", () => {
  const nearly = fc.string({
    maxLength: 60,
    unit: fc.constantFrom('{"cookie":', '{"', '":', ",", "}", "null", "1", "["),
  });
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.json(), nearly), (text) => {
      const data = parsePayload(text, NOW_MS);
      if (typeof data === "string") expect(["corrupt", "over"]).toContain(data);
      else expect(() => inflated(data)).not.toThrow();
    }),
    { numRuns: 3_000 },
  );
});

test.each([
  "",
  "{",
  "{}",
  "[]",
  '"x"',
  "null",
  "0",
  "true",
  '{"cookie":null}',
  '{"cookie":"x"}',
  '{"cookie":[]}',
  '{"cookie":1}',
  '{"cookie":{"originalMaxAge":"60000"}}',
  '{"cookie":{"originalMaxAge":{}}}',
  '{"cookie":{"expires":"never"}}',
  '{"cookie":{"expires":5}}',
  '{"cookie":{"httpOnly":"yes"}}',
  '{"cookie":{"path":5}}',
  '{"cookie":{"sameSite":"maybe"}}',
  '{"cookie":{"priority":"urgent"}}',
  '{"cookie":{"path":null}}',
  '{"cookie":{"secure":"yes"}}',
  '{"cookie":{"partitioned":1}}',
  '{"cookie":{"domain":5}}',
  '{"cookie":{"priority":["low"]}}',
  '{"cookie":{"priority":"slow"}}',
  '{"cookie":{"priority":"lower"}}',
  '{"cookie":{"sameSite":["lax"]}}',
  '{"cookie":{"sameSite":"relax"}}',
  '{"cookie":{"sameSite":"laxest"}}',
  '{"cookie":{}}x',
])("C11: the payload %j is corrupt", (text) => {
  expect(parsePayload(text, NOW_MS)).toBe("corrupt");
});

test("payload: a fixed expiry that has passed means over, one to come is a Date", () => {
  const at = (ms: number): string => JSON.stringify({ cookie: { expires: new Date(ms).toISOString() } });
  expect(parsePayload(at(NOW_MS), NOW_MS)).toBe("over");
  expect(parsePayload(at(NOW_MS - 1), NOW_MS)).toBe("over");
  expect(parsed(at(NOW_MS + 1)).cookie["expires"]).toEqual(new Date(NOW_MS + 1));
});

test("payload: what can be derived again is not stored", () => {
  const cookie = new session.Cookie();
  cookie.maxAge = 60_000;
  cookie.originalMaxAge = 60_000;
  expect(serializeSession({ cookie, a: 1 })).toBe('{"cookie":{"originalMaxAge":60000},"a":1}');
  expect(serializeSession({ cookie: new session.Cookie(), a: 1 })).toBe('{"cookie":{},"a":1}');
});

test.each([
  [{ originalMaxAge: null, expires: null, later: "attribute" }, { expires: null }],
  [{ originalMaxAge: null, secure: "auto", sameSite: "Strict", priority: "HIGH" }, { secure: "auto" }],
])("payload: the stored cookie %j is one", (cookie, expected) => {
  const read = parsed(JSON.stringify({ cookie })).cookie;
  expect(read).toMatchObject({ originalMaxAge: null, httpOnly: true, path: "/", ...expected });
  expect(read).not.toHaveProperty("later");
});

test.each([
  [undefined, "{}"],
  [null, "{}"],
  ["text", "{}"],
  [{ maxAge: 5 }, '{"originalMaxAge":5}'],
  [{ originalMaxAge: Infinity }, "{}"],
  [{ originalMaxAge: "5" }, "{}"],
  [{ expires: new Date(NOW_MS) }, '{"expires":"2023-11-14T22:13:20.000Z"}'],
  [{ expires: "Tue, 14 Nov 2023 22:13:20 GMT" }, '{"expires":"2023-11-14T22:13:20.000Z"}'],
  [{ expires: "never" }, "{}"],
  [{ expires: 5 }, "{}"],
  [{ originalMaxAge: 5, expires: new Date(NOW_MS) }, '{"originalMaxAge":5}'],
  [{ domain: null, sameSite: undefined }, "{}"],
  [{ domain: "/", path: "/", httpOnly: true }, '{"domain":"/"}'],
  [{ secure: true, httpOnly: false, path: "/a" }, '{"httpOnly":false,"secure":true,"path":"/a"}'],
])("payload: of the cookie %j this is stored: %s", (cookie, text) => {
  expect(cookiePrefix(cookie)).toBe(`{"cookie":${text}`);
});

test("payload: names that a Session has itself are dropped from what is stored", () => {
  const { cookie: _cookie, ...data } = parsed('{"cookie":{},"id":"x","regenerate":1,"a":1}');
  expect(data).toEqual({ a: 1 });
});

test("payload: a bare record has a cookie as express-session makes it, and nothing else", () => {
  expect(emptySessionData()).toEqual({ cookie: { originalMaxAge: null, expires: null, httpOnly: true, path: "/" } });
});

test.each([
  ["a BigInt", 10n, "TypeError"],
  ["a throwing toJSON", { toJSON: () => raise() }, "Error"],
  ["a toJSON that throws text", { toJSON: () => raiseText() }, "not serializable"],
  ["a cycle", cyclic(), "TypeError"],
])("C13: %s cannot be stored, and the error says so without contents", (_what, value, cause) => {
  const data = { cookie: {}, secret: "hunter2", value };
  expect(() => serializeSession(data)).toThrow(
    expect.objectContaining({
      code: "ERR_SESSION_NOT_SERIALIZABLE",
      message: expect.stringMatching(/^The session holds something JSON cannot/),
      cause: expect.objectContaining({ message: cause }),
    }),
  );
});

function raiseText(): never {
  throw "hunter2";
}

function raise(): never {
  throw new Error("hunter2");
}

function cyclic(): object {
  const one: { self?: object } = {};
  one.self = one;
  return one;
}
