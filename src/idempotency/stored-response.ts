import type { OutgoingHttpHeaders } from "node:http";

/** An answer as it is kept under its key. */
export interface StoredResponse {
  readonly status: number;
  /** Only headers that are replayed; several values stay several. */
  readonly headers: readonly (readonly [name: string, values: readonly string[]])[];
  /** `undefined`: the answer was too large, or has no end, and cannot be replayed. The request is not run again all the same. */
  readonly body: Buffer | undefined;
}

/**
 * What describes the answer and still holds for its replay. Everything else does not: cookies and challenges are not for this request,
 * dates and rate limits are past, CORS is for another origin, digests are of another body.
 */
const REPLAYED = [
  "Content-Type",
  "Content-Language",
  "Content-Disposition",
  "Content-Location",
  "Content-Encoding",
  "Location",
  "Link",
  "Last-Modified",
  "ETag",
];

/** Headers that no option can add to those replayed. */
const NEVER =
  /^(?:set-cookie|date|age|expires|retry-after|connection|keep-alive|upgrade|trailer|te|transfer-encoding|content-length|cache-control|.*authenticat.*|.*authoriz.*|access-control-.*|.*rate-?limit.*|content-security-policy.*|server-timing|x-request-id|x-correlation-id|traceparent|tracestate|x-submit-token|x-csrf-.*|.*digest|content-md5|signature.*)$/i;

/** Whether a header may be named in the `replayHeaders` option. */
export function mayReplay(name: string): boolean {
  return !NEVER.test(name);
}

/** Picks what is replayed from the headers of an answer. */
export function replayedHeaders(headers: OutgoingHttpHeaders, further: readonly string[]): StoredResponse["headers"] {
  const own = further.filter((name) => !REPLAYED.some((known) => known.toLowerCase() === name.toLowerCase()));
  return [...REPLAYED, ...own].flatMap((name) => {
    const value = headers[name.toLowerCase()];
    return value === undefined ? [] : [[name, [value].flat().map(String)] as const];
  });
}

/** Text for Redis: bodies that are text stay readable, others become base64. */
export function encodeResponse({ status, headers, body }: StoredResponse): string {
  const text = body?.toString("utf8");
  const isText = text !== undefined && Buffer.from(text, "utf8").equals(body as Buffer);
  return JSON.stringify({ status, headers, ...(isText ? { text } : { base64: body?.toString("base64") }) });
}

/** `undefined` for anything that `encodeResponse` did not write. */
export function decodeResponse(stored: string): StoredResponse | undefined {
  try {
    const { status, headers, text, base64 } = JSON.parse(stored) as Record<string, unknown>;
    if (!isStatus(status) || !Array.isArray(headers) || !headers.every(isHeader)) return undefined;
    const body =
      typeof text === "string"
        ? Buffer.from(text)
        : typeof base64 === "string"
          ? Buffer.from(base64, "base64")
          : undefined;
    return { status, headers, body };
  } catch {
    return undefined;
  }
}

function isStatus(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 200 && value <= 999;
}

function isHeader(value: unknown): value is readonly [name: string, values: readonly string[]] {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [name, values] = value as readonly unknown[];
  return typeof name === "string" && Array.isArray(values) && values.every((text) => typeof text === "string");
}

/**
 * Marks a JSON object as a replay: `"replayed":true` becomes its last member, in the text itself, so that every number and space in
 * it stays as it was. `undefined` for anything that is no JSON object.
 */
export function withReplayedMark(body: Buffer): Buffer | undefined {
  // One character per byte: so the bytes come back as they were, in whatever charset that has ASCII in it.
  const text = body.toString("latin1");
  const end = text.trimEnd().length - 1;
  if (text.trimStart()[0] !== "{" || text[end] !== "}" || !isJson(text)) return undefined;
  const before = text.slice(0, end).trimEnd();
  const separator = before.endsWith("{") ? "" : ",";
  return Buffer.from(`${before}${separator}"replayed":true${text.slice(before.length)}`, "latin1");
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
