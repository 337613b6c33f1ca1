import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { isSafe, readToken } from "../../src/submit-token/token-request.js";

const PLACES = { fieldName: "_submit_token", headerName: "X-Submit-Token", requireFieldAndHeader: false };

function request(parts: {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  readonly query?: unknown;
  readonly originalMethod?: unknown;
}): IncomingMessage {
  const { headers = {}, ...rest } = parts;
  const headersDistinct = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
  return { method: "POST", ...rest, headers, headersDistinct } as never;
}

const HINTS: readonly (readonly [name: string, request: IncomingMessage, hint: RegExp | undefined])[] = [
  [
    "C45: an upload that nobody has parsed yet",
    request({ headers: { "content-type": "multipart/form-data; boundary=x", "content-length": "5" } }),
    /^protect\(\) ran before the upload parser \(multer, busboy\)/,
  ],
  [
    "R-T2: a token in the address",
    request({ query: { _submit_token: "t" } }),
    /^the token came in the query string.*is not read/,
  ],
  [
    "a form that nobody has parsed",
    request({ headers: { "content-type": "application/x-www-form-urlencoded", "content-length": "5" } }),
    /^no body was parsed; mount express\.urlencoded\(\) or express\.json\(\)/,
  ],
  ["a form without the field", request({ body: { amount: "5" } }), undefined],
  [
    "an upload whose fields have been parsed",
    request({ headers: { "content-type": "multipart/form-data; boundary=x" }, body: { a: "1" } }),
    undefined,
  ],
  ["nothing at all", request({}), undefined],
];

test.each(HINTS)("%s: no token, and the team is told why only where it is the team's to mend", (_name, req, hint) => {
  const sent = readToken(req, PLACES);
  expect(sent.kind).toBe("missing");
  const text = sent.kind === "missing" ? sent.hint : undefined;
  if (hint === undefined) expect(text).toBeUndefined();
  else expect(text).toMatch(hint);
});

test("R-T2: a field that the body only inherits is no token", () => {
  const inherited: unknown = Object.create({ _submit_token: "t" });
  const polluted: unknown = JSON.parse('{"__proto__":{"_submit_token":"t"}}');
  for (const body of [inherited, polluted, "_submit_token=t", ["_submit_token"], null, 7]) {
    expect(readToken(request({ body }), PLACES).kind).toBe("missing");
  }
});

test("R-T7: a safe method counts as unsafe with whatever may have been an override of it, or with a body", () => {
  for (const method of ["GET", "HEAD", "OPTIONS", "TRACE"]) {
    expect(isSafe(request({ method }))).toBe(true);
    expect(isSafe(request({ method, headers: { "content-length": "0" } }))).toBe(true);
    for (const headers of [
      { "x-http-method-override": "POST" },
      { "x-http-method": "" },
      { "x-method-override": method },
      { "content-length": "1" },
      { "transfer-encoding": "chunked" },
    ] as Record<string, string>[]) {
      expect(isSafe(request({ method, headers }))).toBe(false);
    }
    expect(isSafe(request({ method, originalMethod: "POST" }))).toBe(false);
  }
  for (const method of ["POST", "PUT", "PATCH", "DELETE", "QUERY", "get", ""]) {
    expect(isSafe(request({ method, originalMethod: "GET" }))).toBe(false);
  }
});
