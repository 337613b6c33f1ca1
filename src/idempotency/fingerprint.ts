import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { kindOf, misuse } from "../check.js";
import { digest } from "../digest.js";

/** The `fingerprint` option: from a request to what makes its body the same as another's. */
export type FingerprintOption = (req: never) => string | Uint8Array;

/**
 * What a request is: method, path, query and body. The same key with another fingerprint is another request. `undefined` if the
 * request has a body that nothing here can read: it is never taken for an empty one.
 */
export function fingerprintOf(req: IncomingMessage, option: FingerprintOption | undefined): string | undefined {
  const body = option === undefined ? bodyOf(req) : ["custom", sha256(customText(option(req as never)))];
  if (body === undefined) return undefined;
  const { originalUrl } = req as { readonly originalUrl?: unknown };
  const [path = "", ...query] = (typeof originalUrl === "string" ? originalUrl : (req.url ?? "")).split("?");
  const pairs = query.join("?").split("&").sort().join("&");
  // What was overridden on the way is another request than what was not.
  return digest(methodOf(req), req.method ?? "", path, pairs, ...body);
}

/** The method on the wire, where a method-override middleware has noted it. */
export function methodOf(req: IncomingMessage): string {
  const { originalMethod } = req as { readonly originalMethod?: unknown };
  return typeof originalMethod === "string" ? originalMethod : (req.method ?? "");
}

function bodyOf(req: IncomingMessage): string[] | undefined {
  if (!hasBody(req)) return ["none"];
  // Nobody has read it to its end: whatever `req.body` is, it is not this request's.
  if (!req.readableEnded) return undefined;
  const type = (req.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const { body } = req as { readonly body?: unknown };
  const content = contentOf(body);
  const files = filesOf(req);
  if (content === undefined && files.length === 0) return undefined;
  return [type, ...(content ?? ["no fields"]), ...files];
}

function contentOf(body: unknown): [kind: string, content: string] | undefined {
  if (body instanceof Uint8Array) return ["bytes", sha256(body)];
  if (typeof body === "string") return ["text", sha256(body)];
  const json = body === undefined ? undefined : canonicalJson(body);
  return json === undefined ? undefined : ["json", sha256(json)];
}

/** Equal for equal JSON, whatever the order of members and the layout; `undefined` if it cannot be written, or not all of it. */
function canonicalJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, (_name, member: unknown) => {
      if (typeof member === "bigint") return `${member}n`;
      if (typeof member !== "object" || member === null || Array.isArray(member)) return member;
      const entries = Object.entries(member);
      if (entries.length === 0 && !isPlain(member)) throw new TypeError("what is in it cannot be seen");
      return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
    });
  } catch {
    // Nested too deep, or in circles, or not data.
    return undefined;
  }
}

/** Not so a `Map` or a `FormData`, which as JSON would be empty. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function customText(text: unknown): string | Uint8Array {
  if (typeof text === "string" || text instanceof Uint8Array) return text;
  throw misuse(`idempotency: fingerprint: expected text or bytes, got ${kindOf(text)}`, "ERR_INVALID_ARG_TYPE");
}

/** A file as multer leaves it: in memory with its bytes, on disk with its name, type and size only. */
interface UploadedFile {
  readonly fieldname?: unknown;
  readonly originalname?: unknown;
  readonly mimetype?: unknown;
  readonly size?: unknown;
  readonly buffer?: unknown;
}

function filesOf(req: IncomingMessage): string[] {
  const { file, files } = req as { readonly file?: unknown; readonly files?: unknown };
  const all = [file, ...(typeof files === "object" && files !== null ? Object.values(files).flat() : [])];
  return all.filter(isFile).map(({ fieldname, originalname, mimetype, size, buffer }) => {
    const content = buffer instanceof Uint8Array ? sha256(buffer) : "on disk";
    return digest("file", String(fieldname), String(originalname), String(mimetype), String(size), content);
  });
}

function isFile(value: unknown): value is UploadedFile {
  return typeof value === "object" && value !== null && "fieldname" in value;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("base64url");
}
