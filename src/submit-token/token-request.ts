import type { IncomingMessage } from "node:http";

/** Methods that change nothing (RFC 9110, section 9.2.1). */
const SAFE = new Set(["GET", "HEAD", "OPTIONS", "TRACE"]);

const OVERRIDE_HEADERS = ["x-http-method-override", "x-http-method", "x-method-override"];

/**
 * True if the request, as it came over the wire, is of a method that changes nothing. A method-override middleware may have turned
 * a POST into a GET: what it leaves of that (`originalMethod`, its header, a body) makes the request count as unsafe.
 */
export function isSafe(req: IncomingMessage): boolean {
  const { originalMethod } = req as { readonly originalMethod?: unknown };
  if (!SAFE.has(req.method ?? "")) return false;
  if (typeof originalMethod === "string" && !SAFE.has(originalMethod)) return false;
  return !OVERRIDE_HEADERS.some((name) => name in req.headers) && !hasBody(req);
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** What a request brings as its token. `different` covers everything that cannot be one token. */
export type SentToken =
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "missing"; readonly hint: string | undefined }
  | { readonly kind: "different" };

export interface TokenPlaces {
  readonly fieldName: string;
  readonly headerName: string;
  readonly requireFieldAndHeader: boolean;
}

/** Reads the token from the body's field and the header; never from the query or a cookie, which end up in logs and histories. */
export function readToken(req: IncomingMessage, places: TokenPlaces): SentToken {
  const field = fieldOf(req, places.fieldName);
  const headers = (req.headersDistinct[places.headerName.toLowerCase()] ?? []).filter((value) => value !== "");
  if (headers.length > 1 || (field !== undefined && typeof field !== "string")) return { kind: "different" };
  const [header] = headers;
  if (places.requireFieldAndHeader && (field === undefined || header === undefined)) {
    return { kind: "missing", hint: hintFor(req, places.fieldName) };
  }
  const token = field ?? header;
  if (token === undefined) return { kind: "missing", hint: hintFor(req, places.fieldName) };
  return header !== undefined && header !== token ? { kind: "different" } : { kind: "token", token };
}

function fieldOf(req: IncomingMessage, name: string): unknown {
  const { body } = req as { readonly body?: unknown };
  if (typeof body !== "object" || body === null || !Object.hasOwn(body, name)) return undefined;
  const value = (body as Readonly<Record<string, unknown>>)[name];
  return value === "" || value === null ? undefined : value;
}

/** Why a token may be missing although the page sent one: the team's mistakes, not the visitor's. */
function hintFor(req: IncomingMessage, fieldName: string): string | undefined {
  const { body, query } = req as { readonly body?: unknown; readonly query?: unknown };
  if (typeof query === "object" && query !== null && fieldName in query) {
    return "the token came in the query string, which ends up in logs and is not read; send it as a form field or header";
  }
  if (typeof body === "object" && body !== null && Object.keys(body).length > 0) return undefined;
  const type = req.headers["content-type"] ?? "";
  if (type.startsWith("multipart/")) {
    return "protect() ran before the upload parser (multer, busboy), so the form's fields were not there yet; mount the parser first, or send the token in the header";
  }
  if (/urlencoded|json/.test(type) && hasBody(req)) {
    return "no body was parsed; mount express.urlencoded() or express.json() before protect()";
  }
  return undefined;
}
