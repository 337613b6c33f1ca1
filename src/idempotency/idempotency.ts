import type { IncomingMessage, ServerResponse } from "node:http";
import { RedisError } from "../errors.js";
import { answerJson } from "../http/answer.js";
import { beforeEnd } from "../http/before-end.js";
import type { NextFunction, RequestHandler } from "../http/handler.js";
import { hintOnce } from "../http/hints.js";
import { wasNotRun } from "../http/not-run.js";
import { ResponseCapture } from "../http/response-capture.js";
import { RedisConnection } from "../redis/connection.js";
import { malformedReply } from "../redis/failure.js";
import { type Claim, ClaimStore } from "./claim-store.js";
import { fingerprintOf, methodOf } from "./fingerprint.js";
import { parseKey, readKey, type SentKey } from "./idempotency-key.js";
import {
  type IdempotencyConfiguration,
  type IdempotencyOptions,
  type IdempotencyRefusal,
  idempotencyConfiguration,
} from "./idempotency-options.js";
import { isKept } from "./keep-policy.js";
import { replay } from "./replay.js";
import { type IdempotencyControl, Run } from "./run.js";
import { recordName, scopeOf } from "./scope.js";
import type { ClaimReply } from "./scripts/claim-key.js";
import { decodeResponse, encodeResponse, replayedHeaders } from "./stored-response.js";

declare global {
  namespace Express {
    interface Request {
      /** Behind `idempotency`, in a request with a key: its hold on the key. */
      idempotency?: IdempotencyControl;
    }
  }
}

/** Wait between two looks at a key that another request holds. */
const POLL_MS = 100;

interface Parts {
  readonly config: IdempotencyConfiguration;
  readonly store: ClaimStore;
}

/**
 * A middleware that gives a repeated request its first answer again, in place of a second effect. Mount it behind `session()` and the body
 * parser, and before submit tokens and the handler. The contract, situation by situation, is in docs/idempotency.md; it follows
 * draft-ietf-httpapi-idempotency-key-header-07 (expired) where that says something.
 *
 * Throws a `TypeError` for options it cannot use.
 *
 * @example
 * ```ts
 * app.post("/payments", idempotency({ client }), async (req, res) => {
 *   await req.idempotency?.commit(); // from here on never a second time
 *   res.status(201).json(await charge(req.body));
 * });
 * ```
 */
export function idempotency(options: IdempotencyOptions): RequestHandler {
  const config = idempotencyConfiguration(options);
  const redis = new RedisConnection(config.client, config.commandTimeoutMs);
  const store = new ClaimStore({ ...config, redis });
  const parts: Parts = { config, store };
  return (req, res, next) => {
    if (!isGuarded(config, req)) return next();
    handle(parts, req, res, next).catch((error: unknown) => process.nextTick(next as NextFunction, error));
  };
}

/** By its method on the wire as well as by what a method-override middleware made of it. */
function isGuarded({ methods }: IdempotencyConfiguration, req: IncomingMessage): boolean {
  return methods.has(req.method ?? "") || methods.has(methodOf(req));
}

async function handle(parts: Parts, req: IncomingMessage, res: ServerResponse, next: NextFunction): Promise<void> {
  const { config, store } = parts;
  // Another guard before this one has the key: this one would wait for its own request.
  if ("idempotency" in req && req.idempotency !== undefined) return process.nextTick(next);
  const request = identify(config, req);
  if (request === "unguarded") return process.nextTick(next);
  if (typeof request === "object" && "error" in request) return void (await refuse(config, request, req, res, next));
  const claim = store.newClaim(request.name);
  let reply: ClaimReply;
  let claimedAtMs: number;
  try {
    ({ reply, claimedAtMs } = await claimOrWait(parts, claim, request.fingerprint));
  } catch (error) {
    if (!config.failOpen || !(error instanceof RedisError)) throw error;
    hintOnce("Idempotency keys", "Redis cannot be asked, so requests run unguarded (failOpen)");
    return process.nextTick(next);
  }
  if (reply.kind === "run") {
    const run = new Run({ ...parts, ...config, claim, attempt: reply.attempt, claimedAtMs });
    guard(config, run, req, res);
    return process.nextTick(next);
  }
  if (reply.kind === "replay") return giveAgain(res, reply.response);
  if (reply.kind === "corrupt") throw malformedReply("claim-key");
  if (reply.kind === "in_progress") {
    res.setHeader("Retry-After", Math.min(5, Math.max(1, Math.ceil(reply.leaseLeftMs / 1_000))));
  }
  await refuse(config, refusalOf(reply.kind), req, res, next);
}

type Identified = { readonly name: string; readonly fingerprint: string } | IdempotencyRefusal | "unguarded";

/** Whose key it is and what the request is, or why that cannot be said; Redis is not asked. */
function identify(config: IdempotencyConfiguration, req: IncomingMessage): Identified {
  const sent = sentKey(config, req);
  if (sent.kind === "missing") {
    const isLeftOut = req.headers["idempotency-key"] === undefined && !config.required;
    return isLeftOut ? "unguarded" : { status: 400, error: "idempotency_key_required" };
  }
  if (sent.kind !== "key") return { status: 400, error: `idempotency_key_${sent.kind}` };
  const scope = scopeOf(req, config.scope);
  if (scope === undefined) {
    hintOnce(
      "Idempotency keys",
      "a request came without a login or a session; say whose its key is with the scope option",
    );
    return { status: 400, error: "idempotency_scope_required" };
  }
  const fingerprint = fingerprintOf(req, config.fingerprint);
  if (fingerprint === undefined) {
    hintOnce(
      "Idempotency keys",
      "a body was not read; mount its parser before idempotency(), or give the fingerprint option",
    );
    return { status: 415, error: "idempotency_body_unreadable" };
  }
  return { name: recordName(scope, sent.key), fingerprint };
}

function sentKey(config: IdempotencyConfiguration, req: IncomingMessage): SentKey {
  const sent = readKey(req);
  if (sent.kind !== "missing" || config.key === undefined || req.headers["idempotency-key"] !== undefined) return sent;
  const other: unknown = config.key(req as never);
  return typeof other === "string" ? parseKey(other) : sent;
}

async function claimOrWait(
  { config, store }: Parts,
  claim: Claim,
  fingerprint: string,
): Promise<{ readonly reply: ClaimReply; readonly claimedAtMs: number }> {
  const endMs = performance.now() + config.waitMs;
  while (true) {
    // Of the claim that succeeds: a lease does not begin with the wait for it.
    const claimedAtMs = performance.now();
    const reply = await store.claim(claim, fingerprint);
    if (reply.kind !== "in_progress" || claimedAtMs >= endMs) return { reply, claimedAtMs };
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Puts the run on the request, and sees to it that its answer is stored before it leaves. */
function guard(
  { keep, maxBodyBytes, replayHeaders }: IdempotencyConfiguration,
  run: Run,
  req: IncomingMessage & { idempotency?: IdempotencyControl },
  res: ServerResponse,
): void {
  req.idempotency = run;
  const capture = new ResponseCapture(res, maxBodyBytes);
  let isEnded = false;
  beforeEnd(res, {
    isNeeded: () => true,
    run: async (lastChunk) => {
      isEnded = true;
      const { statusCode: status } = res;
      const isRefusal = wasNotRun(res) && !run.isCommitted;
      if (isRefusal || !isKept({ status, isCommitted: run.isCommitted }, keep)) return await run.release();
      const headers = replayedHeaders(capture.headers, replayHeaders);
      // A part of something is no answer that could be given again.
      const body = status === 206 ? undefined : capture.body(lastChunk);
      await run.complete(encodeResponse({ status, headers, body }));
    },
  });
  // Cut off by the handler itself: no answer will come, and the lease runs out. When the client hangs up, the handler goes on.
  const destroy = res.destroy.bind(res);
  res.destroy = ((error?: Error) => {
    if (!isEnded) run.stop();
    return destroy(error);
  }) as typeof res.destroy;
}

function giveAgain(res: ServerResponse, stored: string): void {
  const response = decodeResponse(stored);
  if (response === undefined) throw malformedReply("claim-key");
  replay(res, response);
}

function refusalOf(kind: "mismatch" | "in_progress" | "outcome_unknown"): IdempotencyRefusal {
  if (kind === "mismatch") return { status: 422, error: "idempotency_key_reused" };
  return { status: 409, error: kind === "in_progress" ? "idempotency_in_progress" : kind };
}

async function refuse(
  { onRefused }: IdempotencyConfiguration,
  refusal: IdempotencyRefusal,
  req: IncomingMessage,
  res: ServerResponse,
  next: NextFunction,
): Promise<void> {
  res.statusCode = refusal.status;
  res.setHeader("Cache-Control", "private, no-store");
  if (onRefused === undefined) answerJson(res, refusal.status, { error: refusal.error });
  else await onRefused(refusal, req as never, res as never, next);
}
