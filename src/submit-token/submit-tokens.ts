import type { IncomingMessage, ServerResponse } from "node:http";
import { kindOf, misuse } from "../check.js";
import { SubmitTokenError } from "../errors.js";
import type { RequestHandler } from "../http/handler.js";
import { escapeHtml } from "../http/html.js";
import { forceNoStore } from "../http/no-store.js";
import { sessionOf } from "../http/session-identity.js";
import { RedisConnection } from "../redis/connection.js";
import { bindingOf, checkSession, indexNameOf, storeSession } from "./bound-session.js";
import { submitTokenGuard } from "./guard.js";
import { type ScriptOptions, scriptHandler } from "./script-handler.js";
import { SigningKeys } from "./signing-keys.js";
import type { SubmitTokenControl } from "./submit-token-control.js";
import {
  type IssueOptions,
  issueConfiguration,
  type ProtectOptions,
  protectConfiguration,
  type SubmitTokensOptions,
  submitTokensConfiguration,
} from "./submit-token-options.js";
import { TokenCodec } from "./token-codec.js";
import { type TokenEndpointOptions, tokenEndpoint } from "./token-endpoint.js";
import { TokenStore } from "./token-store.js";

declare global {
  namespace Express {
    interface Request {
      /** Behind `tokens.protect`: the submit token this request has spent. */
      submitToken?: SubmitTokenControl;
    }
  }
}

/** One-time tokens for forms and scripts: what `submitTokens` makes. */
export interface SubmitTokens {
  /**
   * Makes a token for this session, for the page that is being answered: the response is kept out of all caches (`Cache-Control:
   * private, no-store`, whatever a later handler sets), and a session that is not stored yet is stored, so that an anonymous visitor's
   * token has something to be bound to.
   *
   * Errors: `RedisError` (503), `SubmitTokenError` `ERR_HEADERS_SENT`, those of saving the session; a `TypeError` without `session()`.
   *
   * @example
   * ```ts
   * app.get("/order", async (req, res) => {
   *   const token = await tokens.issue(req, { action: "order" });
   *   res.send(`<form method="post" action="/orders">${tokens.field(token)}<button>Order</button></form>`);
   * });
   * ```
   */
  issue(req: IncomingMessage, options?: IssueOptions): Promise<string>;
  /** The hidden form field for a token, as HTML. */
  field(token: string): string;
  /**
   * A `GET` handler for pages that fetch their tokens: answers `{"token":"…","fieldName":"…","headerName":"…"}`, never to other sites' pages.
   */
  endpoint(options?: TokenEndpointOptions): RequestHandler;
  /**
   * A `GET` handler for the script that browsers get: it adds tokens to forms when they are sent and to what `submitTokens.fetch`
   * sends, greys out the buttons meanwhile, and tells people what to do when a submission is refused. It is a plain file for
   * `<script src>`, so `script-src 'self'; connect-src 'self'` is all that a Content-Security-Policy has to allow for it.
   *
   * @example
   * ```ts
   * app.get("/submit-tokens.js", tokens.script());
   * app.get("/submit-token", tokens.endpoint({ action: ["order"] }));
   * ```
   */
  script(options?: ScriptOptions): RequestHandler;
  /**
   * A middleware that lets a request pass once for each token, and only with one. Mount it behind `session()` and the body parser.
   * `GET`, `HEAD`, `OPTIONS` and `TRACE` pass without. Refused requests are answered with 403, a second one with the same token
   * with 409 `{"error":"duplicate_submission"}`; if Redis cannot be asked, `next` gets a `RedisError` (503).
   *
   * @example
   * ```ts
   * app.post("/orders", tokens.protect({ action: "order" }), placeOrder);
   * ```
   */
  protect(options?: ProtectOptions): RequestHandler;
}

/** Tries to find an unused token text: a second one is only needed if 192 random bits have come up before. */
const MAX_TRIES = 3;

/**
 * One-time submit tokens: signed, bound to the session and the login in it, verified and spent in one atomic step. A form that
 * is sent twice has one effect, and other sites' pages cannot send it at all (OWASP, Cross-Site Request Forgery Prevention).
 *
 * Throws a `TypeError` for options it cannot use, and in production for a missing or weak secret.
 *
 * @example
 * ```ts
 * const tokens = submitTokens({ client, secret: process.env.SUBMIT_TOKEN_SECRET });
 * ```
 */
export function submitTokens(options: SubmitTokensOptions): SubmitTokens {
  const config = submitTokensConfiguration(options);
  const { fieldName, headerName, tokenPrefix, livePrefix, maxLiveTokens, allowedOrigins } = config;
  const redis = new RedisConnection(config.client, config.commandTimeoutMs);
  const codec = new TokenCodec(new SigningKeys(config.secrets));
  const store = new TokenStore({ redis, tokenPrefix, livePrefix, maxLiveTokens });
  const issue = async (req: IncomingMessage, issueOptions: IssueOptions = {}): Promise<string> => {
    const { action, ttlMs } = issueConfiguration(issueOptions, config.ttlMs);
    return await issueToken({ codec, store }, req, action, ttlMs);
  };
  return {
    issue,
    field: (token) =>
      `<input type="hidden" name="${escapeHtml(fieldName)}" value="${tokenText(token)}" autocomplete="off">`,
    endpoint: (endpointOptions = {}) =>
      tokenEndpoint({ issue: (req, action) => issue(req, { action }), fieldName, headerName }, endpointOptions),
    script: (scriptOptions = {}) => scriptHandler({ fieldName, headerName }, scriptOptions),
    protect: (protectOptions = {}) =>
      submitTokenGuard({ codec, store, fieldName, headerName, allowedOrigins }, protectConfiguration(protectOptions)),
  };
}

async function issueToken(
  { codec, store }: { readonly codec: TokenCodec; readonly store: TokenStore },
  req: IncomingMessage,
  action: string,
  ttlMs: number,
): Promise<string> {
  checkSession("issue", req);
  forceNoStore(req, openResponse(req));
  const found = sessionOf(req);
  if (found !== undefined) await storeSession(found.session, ttlMs);
  const binding = bindingOf(req, action);
  if (binding === undefined) {
    throw new SubmitTokenError(
      "ERR_SESSION_ENDED",
      "The request's session has been ended, so no token can belong to it",
    );
  }
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const token = codec.make(binding, ttlMs);
    if (await store.insert(token, binding, indexNameOf(req), ttlMs)) return token;
  }
  throw new SubmitTokenError(
    "ERR_TOKEN_COLLISION",
    "No unused token was found; is the source of random numbers broken?",
  );
}

/** The response the token goes out with, as Express ties it to the request. */
function openResponse(req: IncomingMessage): ServerResponse {
  const { res } = req as { readonly res?: ServerResponse };
  if (res === undefined) {
    throw misuse("issue: expected a request of Express, with its response as req.res", "ERR_INVALID_ARG_VALUE");
  }
  if (!res.headersSent) return res;
  throw new SubmitTokenError(
    "ERR_HEADERS_SENT",
    "The response has begun, so caches cannot be told to leave the token's page alone; issue it before writing",
  );
}

function tokenText(token: unknown): string {
  if (typeof token === "string" && /^[A-Za-z0-9._-]+$/.test(token)) return token;
  throw misuse(`field: expected a token that issue() made, got ${kindOf(token)}`, "ERR_INVALID_ARG_VALUE");
}
