/**
 * Log users out on every device at once: a session store for express-session on Redis.
 *
 * @packageDocumentation
 */

export { type AdminLogoutOptions, adminLogout } from "./admin/admin-logout.js";
export {
  type ErrorCode,
  IdempotencyError,
  LoginError,
  LogoutEverywhereError,
  type LogoutReceipt,
  LogoutUnconfirmedError,
  RedisError,
  SessionDataError,
  SubmitTokenError,
} from "./errors.js";
export type { NextFunction, RequestHandler } from "./http/handler.js";
export type { FingerprintOption } from "./idempotency/fingerprint.js";
export { idempotency } from "./idempotency/idempotency.js";
export type { IdempotencyOptions, IdempotencyRefusal } from "./idempotency/idempotency-options.js";
export type { IdempotencyAnswer, KeepOption } from "./idempotency/keep-policy.js";
export type { IdempotencyControl } from "./idempotency/run.js";
export type { ScopeOption } from "./idempotency/scope.js";
export type { RedisClient, RedisClientOptions, RedisClientStream, RedisPipeline } from "./redis/client.js";
export type { LoginStamp } from "./session/current-login.js";
export { GenerationStore } from "./session/generation-store.js";
export { type Login, loginOf } from "./session/login.js";
export type { LoginAttempt } from "./session/login-attempt.js";
export type { LoginOptions } from "./session/login-flow.js";
export type { LogoutOptions } from "./session/logout.js";
export type { ReadRequestOptions } from "./session/read-request.js";
export { type SignedOutReason, signedOutReason } from "./session/request-state.js";
export { type RequireLoginOptions, requireLogin } from "./session/require-login.js";
export type { SessionRequest } from "./session/session-request.js";
export type {
  CorruptEvent,
  FencedEvent,
  LogoutEvent,
  ReappliedEvent,
  StoreEventMap,
  UnprotectedEvent,
} from "./session/store-events.js";
export type { GenerationStoreOptions, UserIdOption } from "./session/store-options.js";
export type { UserId } from "./session/user-id.js";
export type { ScriptOptions, ScriptTexts } from "./submit-token/script-handler.js";
export type { Secret } from "./submit-token/signing-keys.js";
export type { SubmissionResult, SubmitTokenControl } from "./submit-token/submit-token-control.js";
export type {
  IssueOptions,
  ProtectOptions,
  SubmitTokenRefusal,
  SubmitTokensOptions,
} from "./submit-token/submit-token-options.js";
export { type SubmitTokens, submitTokens } from "./submit-token/submit-tokens.js";
export type { TokenEndpointOptions } from "./submit-token/token-endpoint.js";
