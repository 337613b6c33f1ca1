import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { checkOptions, checkText, kindOf, misuse } from "../check.js";
import { answerJson } from "../http/answer.js";
import type { RequestHandler } from "../http/handler.js";
import { BROWSER_SCRIPT } from "./browser-script.js";

/** What the browser script tells people, in one language. Those left out are the script's own, or English. */
export interface ScriptTexts {
  /** The form was sent before. */
  readonly duplicate?: string | undefined;
  /** The form was open for too long. */
  readonly expired?: string | undefined;
  /** The token is missing, or not this session's. */
  readonly invalid?: string | undefined;
  /** The token is no longer in Redis. */
  readonly unknown?: string | undefined;
  /** No token could be fetched, so nothing was sent. */
  readonly unavailable?: string | undefined;
  /** The connection broke while a script was sending; the next try has the same token. */
  readonly uncertain?: string | undefined;
  /** The link to the first submission's result. */
  readonly result?: string | undefined;
}

/** Options of `tokens.script`. */
export interface ScriptOptions {
  /**
   * The path at which `tokens.endpoint()` is mounted.
   * @defaultValue `"/submit-token"`
   */
  readonly endpoint?: string | undefined;
  /**
   * Texts by language tag (`"de"`, `"pt-BR"`), as in `lang` attributes. They replace those of the script, one by one.
   * @defaultValue the script's own: English, German, French and Spanish
   */
  readonly texts?: Readonly<Record<string, ScriptTexts>> | undefined;
}

export interface ScriptParts {
  readonly fieldName: string;
  readonly headerName: string;
}

const TEXT_NAMES: Readonly<Record<keyof ScriptTexts, true>> = {
  duplicate: true,
  expired: true,
  invalid: true,
  unknown: true,
  unavailable: true,
  uncertain: true,
  result: true,
};

/** The handler behind `tokens.script`. */
export function scriptHandler({ fieldName, headerName }: ScriptParts, options: ScriptOptions): RequestHandler {
  checkOptions("script", options, { endpoint: true, texts: true });
  const endpoint = checkPath(options.endpoint ?? "/submit-token");
  const served = { endpoint, fieldName, headerName, texts: checkTexts(options.texts ?? {}) };
  const script = Buffer.from(BROWSER_SCRIPT.replace("SERVED", () => expressionOf(served)));
  const etag = `"${createHash("sha256").update(script).digest("base64url")}"`;
  return (req, res) => answer(script, etag, req, res);
}

function answer(script: Buffer, etag: string, req: IncomingMessage, res: ServerResponse): void {
  if (req.method !== "GET" && req.method !== "HEAD") {
    res.setHeader("Allow", "GET, HEAD");
    answerJson(res, 405, { error: "method_not_allowed" });
    return;
  }
  // The same for everybody, and asked for again each time: a new version is there at once.
  res.setHeader("Cache-Control", "public, no-cache");
  res.setHeader("ETag", etag);
  res.setHeader("X-Content-Type-Options", "nosniff");
  res.statusCode = isKnown(req, etag) ? 304 : 200;
  if (res.statusCode === 304) {
    res.end();
    return;
  }
  res.setHeader("Content-Type", "text/javascript; charset=utf-8");
  res.setHeader("Content-Length", script.byteLength);
  res.end(script);
}

/** `If-None-Match` (RFC 9110, section 13.1.2), which also proxies may have turned into a weak one. */
function isKnown(req: IncomingMessage, etag: string): boolean {
  const known = (req.headers["if-none-match"] ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return known.includes(etag) || known.includes("*");
}

/** JavaScript for a value: parsed as JSON, so that a name such as `__proto__` is only a name, and without what could end a script. */
function expressionOf(value: object): string {
  const literal = JSON.stringify(JSON.stringify(value));
  return `JSON.parse(${literal.replace(/[<>\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)})`;
}

function checkPath(path: unknown): string {
  const text = checkText("script: endpoint", path);
  if (/^\/(?![/\\])[\x21-\x7e]*$/.test(text)) return text;
  throw misuse(
    'script: endpoint: expected a path that begins with "/", as it is in the browser',
    "ERR_INVALID_ARG_VALUE",
  );
}

/** By lower-case tag, as the script looks them up. */
function checkTexts(texts: unknown): object {
  if (typeof texts !== "object" || texts === null || Array.isArray(texts)) {
    throw misuse(`script: texts: expected an object by language, got ${kindOf(texts)}`, "ERR_INVALID_ARG_TYPE");
  }
  const entries = Object.entries(texts).map(([language, own]: [string, object]) => {
    const where = `script: texts: ${language}`;
    if (!/^[a-z]{2,8}(?:-[a-z0-9]{1,8})*$/i.test(language)) {
      throw misuse('script: texts: expected language tags, such as "de"', "ERR_INVALID_ARG_VALUE");
    }
    checkOptions(where, own, TEXT_NAMES);
    const given = Object.entries(own).filter(([, text]) => text !== undefined);
    for (const [name, text] of given) checkText(`${where}: ${name}`, text);
    return [language.toLowerCase(), Object.fromEntries(given)];
  });
  return Object.fromEntries(entries);
}
