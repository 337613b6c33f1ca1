import type { IncomingMessage, ServerResponse } from "node:http";
import { beforeEnd } from "../http/before-end.js";
import { isCrossSite } from "../http/cross-site.js";
import type { NextFunction, RequestHandler } from "../http/handler.js";
import { hintOnce } from "../http/hints.js";
import { markNotRun } from "../http/not-run.js";
import { mayBeUnstored, sessionOf } from "../http/session-identity.js";
import { bindingOf, checkSession } from "./bound-session.js";
import { answerRefusal } from "./refusal-answer.js";
import { SpentTokenControl, type SubmitTokenControl } from "./submit-token-control.js";
import type { ProtectConfiguration, SubmitTokenRefusal } from "./submit-token-options.js";
import type { TokenCodec } from "./token-codec.js";
import { isSafe, readToken, type TokenPlaces } from "./token-request.js";
import type { FirstSubmission, TokenStore } from "./token-store.js";

const POLL_MS = 100;
const NOTHING_KNOWN: FirstSubmission = { isCommitted: false, location: undefined };

export interface GuardParts {
  readonly codec: TokenCodec;
  readonly store: TokenStore;
  readonly fieldName: string;
  readonly headerName: string;
  readonly allowedOrigins: ReadonlySet<string>;
}

type Verdict =
  | { readonly kind: "pass"; readonly control: SpentTokenControl | undefined }
  | { readonly kind: "refuse"; readonly reason: SubmitTokenRefusal["reason"]; readonly first?: FirstSubmission };

/** A request behind a guard; with two guards on its way, the second finds what the first has spent. */
type GuardedRequest = IncomingMessage & { submitToken?: SubmitTokenControl };

/** The middleware behind `tokens.protect`. */
export function submitTokenGuard(parts: GuardParts, config: ProtectConfiguration): RequestHandler {
  return (req, res, next) => {
    handle(parts, config, req, res, next).catch((error: unknown) => process.nextTick(next as NextFunction, error));
  };
}

async function handle(
  parts: GuardParts,
  config: ProtectConfiguration,
  req: IncomingMessage,
  res: ServerResponse,
  next: NextFunction,
): Promise<void> {
  const verdict = await judge(parts, config, req);
  if (verdict.kind === "refuse") {
    await refuse(config, verdict.reason, verdict.first ?? NOTHING_KNOWN, req, res, next);
    return;
  }
  if (verdict.control !== undefined) hand(config, verdict.control, req, res);
  process.nextTick(next);
}

/** What cannot be this session's token is refused before Redis is asked, and spends nothing. */
async function judge(parts: GuardParts, config: ProtectConfiguration, req: IncomingMessage): Promise<Verdict> {
  if (isSafe(req)) return { kind: "pass", control: undefined };
  checkSession("protect", req);
  if (isFromElsewhere(req, parts.allowedOrigins)) return { kind: "refuse", reason: "cross_site" };
  const places: TokenPlaces = { ...parts, requireFieldAndHeader: config.requireFieldAndHeader };
  const sent = readToken(req, places);
  if (sent.kind === "different") return { kind: "refuse", reason: "invalid" };
  if (sent.kind === "missing") {
    hintOnce("Submit tokens", sent.hint);
    return { kind: "refuse", reason: "missing" };
  }
  const binding = bindingOf(req, config.action);
  const verdict = binding === undefined ? "invalid" : parts.codec.check(sent.token, binding);
  if (binding === undefined || verdict !== "good") {
    if (verdict === "invalid") hintOnce("Submit tokens", lostSessionHint(req));
    return { kind: "refuse", reason: verdict === "good" ? "invalid" : verdict };
  }
  const { submitToken: own } = req as GuardedRequest;
  if (own instanceof SpentTokenControl && own.isFor(sent.token, binding)) return { kind: "pass", control: own };
  return await spend(parts.store, sent.token, binding, config.waitForResultMs);
}

async function spend(store: TokenStore, token: string, binding: string, waitMs: number): Promise<Verdict> {
  const outcome = await store.spend(token, binding);
  if (outcome.kind === "spent") return { kind: "pass", control: new SpentTokenControl(store, outcome.token) };
  if (outcome.kind !== "duplicate") {
    return { kind: "refuse", reason: outcome.kind === "foreign" ? "invalid" : "unknown" };
  }
  const first = await resultOf(store, token, outcome.first, waitMs);
  return { kind: "refuse", reason: "duplicate", first };
}

/** Looks again until the first submission has told its result or the time is up. */
async function resultOf(
  store: TokenStore,
  token: string,
  known: FirstSubmission,
  waitMs: number,
): Promise<FirstSubmission> {
  const endMs = performance.now() + waitMs;
  let first = known;
  while (first.location === undefined && performance.now() < endMs) {
    await new Promise((resolve) => setTimeout(resolve, Math.min(POLL_MS, waitMs)));
    first = await store.firstSubmission(token).catch(() => first);
  }
  return first;
}

function hand(
  config: ProtectConfiguration,
  control: SpentTokenControl,
  req: GuardedRequest,
  res: ServerResponse,
): void {
  req.submitToken = control;
  if (config.release === "never") return;
  // Before the answer leaves: whoever gets it may send the form again at once.
  beforeEnd(res, { isNeeded: () => res.statusCode >= 400, run: () => control.release() });
}

function refuse(
  { onRefused, duplicateStatus }: ProtectConfiguration,
  reason: SubmitTokenRefusal["reason"],
  first: FirstSubmission,
  req: IncomingMessage,
  res: ServerResponse,
  next: NextFunction,
): unknown {
  const refusal: SubmitTokenRefusal = {
    reason,
    status: reason === "duplicate" ? duplicateStatus : 403,
    error:
      reason === "duplicate" ? "duplicate_submission" : reason === "cross_site" ? reason : `submit_token_${reason}`,
    ...first,
  };
  markNotRun(res);
  res.statusCode = refusal.status;
  if (onRefused === undefined) return answerRefusal(refusal, req, res);
  res.setHeader("Cache-Control", "private, no-store");
  return onRefused(refusal, req as never, res as never, next);
}

/** Fetch Metadata and `Origin` may only add a refusal: that they look well never replaces the token. */
function isFromElsewhere(req: IncomingMessage, allowed: ReadonlySet<string>): boolean {
  return isCrossSite(req) && !allowed.has(req.headers.origin ?? "");
}

/** What may have kept the session's cookie from coming along; `undefined` if the request is of a stored session. */
function lostSessionHint(req: IncomingMessage): string | undefined {
  const found = sessionOf(req);
  if (found === undefined || !mayBeUnstored(found.session)) return undefined;
  if (found.session.cookie?.secure === true && (req as { readonly secure?: unknown }).secure === false) {
    return "a token came without the session it belongs to; its session cookie is Secure: use https, and behind a proxy that ends TLS set app.set('trust proxy', 1)";
  }
  if (req.headers.cookie !== undefined) return undefined;
  return "a token came without the session it belongs to, as the browser sent no cookie: look at the cookie's path, domain and sameSite";
}
