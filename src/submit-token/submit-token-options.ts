import { checkFunction, checkInteger, checkOptions, checkText, kindOf, misuse } from "../check.js";
import { checkClient, type RedisClient } from "../redis/client.js";
import { checkPrefixes } from "../redis/prefixes.js";
import { type Secret, usableSecrets } from "./signing-keys.js";

/** Options of `submitTokens`. All times are in milliseconds. */
export interface SubmitTokensOptions {
  /** An ioredis 5 or 6 client (`Redis` or `Cluster`) or an ioredis-mock. It is neither configured nor closed. */
  readonly client: RedisClient;
  /**
   * What signs the tokens: 32 random bytes or more, the same in all processes, from the environment or a key service. A list
   * rotates: the first signs, all verify. Required when `NODE_ENV` is `"production"`.
   * @defaultValue a random one of this process, with a warning
   */
  readonly secret?: Secret | readonly Secret[] | undefined;
  /**
   * How long a token is kept in Redis, from 1 ms to one day. Its signature is good for two seconds less (of short lives, a tenth less).
   * @defaultValue 600 000 (ten minutes)
   */
  readonly ttlMs?: number | undefined;
  /**
   * The form field that carries the token.
   * @defaultValue `"_submit_token"`
   */
  readonly fieldName?: string | undefined;
  /**
   * The request header that carries the token.
   * @defaultValue `"X-Submit-Token"`
   */
  readonly headerName?: string | undefined;
  /**
   * How many tokens of one session may be live, from 1 to 10 000. The next one takes the place of the oldest.
   * @defaultValue 100
   */
  readonly maxLiveTokens?: number | undefined;
  /**
   * Further origins (`"https://www.example.org"`) whose pages may submit. The application's own always may.
   * @defaultValue none
   */
  readonly allowedOrigins?: readonly string[] | undefined;
  /**
   * What the keys of tokens start with. No other key may.
   * @defaultValue `"submit:token:"`
   */
  readonly tokenPrefix?: string | undefined;
  /**
   * What the keys of the sessions' indexes start with.
   * @defaultValue `"submit:live:"`
   */
  readonly livePrefix?: string | undefined;
  /**
   * Longest time an operation takes before it fails with a coded error.
   * @defaultValue 2 000
   */
  readonly commandTimeoutMs?: number | undefined;
}

/** Options of `tokens.issue`. */
export interface IssueOptions {
  /**
   * What the token is for. It is accepted only by `protect` with the same action.
   * @defaultValue none: accepted by `protect()` without an action
   */
  readonly action?: string | undefined;
  /**
   * The token's life, in milliseconds, for forms that take longer to fill in.
   * @defaultValue the `ttlMs` of `submitTokens`
   */
  readonly ttlMs?: number | undefined;
}

/** Why a request was refused by `protect`. */
export interface SubmitTokenRefusal {
  /**
   * `missing`: no token came. `invalid`: malformed, forged, of another session or for another action. `expired`: too late. `unknown`: no
   * longer in Redis. `duplicate`: spent by an earlier request. `cross_site`: sent by another site's page.
   */
  readonly reason: "missing" | "invalid" | "expired" | "unknown" | "duplicate" | "cross_site";
  /** The response's status; already set on it. */
  readonly status: number;
  /** The code of the JSON answer: `duplicate_submission`, `submit_token_missing`, … */
  readonly error: string;
  /** For a duplicate: whether the first submission has said that it took effect. */
  readonly isCommitted: boolean;
  /** For a duplicate: where the first submission's result is, if it said so. */
  readonly location: string | undefined;
}

/** Options of `tokens.protect`. */
export interface ProtectOptions {
  /**
   * Which action the token must have been issued for.
   * @defaultValue none
   */
  readonly action?: string | undefined;
  /**
   * What becomes of the token if the request is answered with a status of 400 or more: `"never"` leaves it spent, and the page
   * gets a fresh one; `"on-error"` gives it back for the rest of its life, unless `req.submitToken.commit()` was called.
   * @defaultValue `"never"`
   */
  readonly release?: "never" | "on-error" | undefined;
  /**
   * Demand the token in the form field and in the header, equal.
   * @defaultValue false
   */
  readonly requireFieldAndHeader?: boolean | undefined;
  /**
   * The status for a duplicate.
   * @defaultValue 409
   */
  readonly duplicateStatus?: 409 | 422 | undefined;
  /**
   * How long a duplicate waits for the first submission to tell its result with `req.submitToken.commit({ location })`, so that
   * the answer can lead there. From 0 to 60 000 ms.
   * @defaultValue 0
   */
  readonly waitForResultMs?: number | undefined;
  /**
   * Answers a refused request in place of the default (a short page for browsers, JSON for scripts). The status is set already.
   * Its parameters are the application's request and response types.
   * @defaultValue none
   */
  readonly onRefused?:
    | ((refusal: SubmitTokenRefusal, req: never, res: never, next: (error?: unknown) => void) => unknown)
    | undefined;
}

/** The options with all defaults filled in. */
export interface SubmitTokensConfiguration {
  readonly client: RedisClient;
  readonly secrets: readonly Secret[];
  readonly ttlMs: number;
  readonly fieldName: string;
  readonly headerName: string;
  readonly maxLiveTokens: number;
  readonly allowedOrigins: ReadonlySet<string>;
  readonly tokenPrefix: string;
  readonly livePrefix: string;
  readonly commandTimeoutMs: number;
}

/** `ProtectOptions` with all defaults filled in. */
export interface ProtectConfiguration {
  readonly action: string;
  readonly release: "never" | "on-error";
  readonly requireFieldAndHeader: boolean;
  readonly duplicateStatus: 409 | 422;
  readonly waitForResultMs: number;
  readonly onRefused: ProtectOptions["onRefused"];
}

const WHERE = "submitTokens";
const MAX_TTL_MS = 86_400_000;

/** Checks the options and fills in the defaults; throws a `TypeError` that says what was expected. */
export function submitTokensConfiguration(options: SubmitTokensOptions): SubmitTokensConfiguration {
  checkOptions(WHERE, options, {
    client: true,
    secret: true,
    ttlMs: true,
    fieldName: true,
    headerName: true,
    maxLiveTokens: true,
    allowedOrigins: true,
    tokenPrefix: true,
    livePrefix: true,
    commandTimeoutMs: true,
  });
  checkClient(WHERE, options.client);
  const { tokenPrefix = "submit:token:", livePrefix = "submit:live:", headerName = "X-Submit-Token" } = options;
  checkPrefixes(WHERE, { tokenPrefix, livePrefix });
  if (!/^[A-Za-z0-9-]+$/.test(checkText(`${WHERE}: headerName`, headerName))) {
    throw misuse(`${WHERE}: headerName: expected letters, digits and hyphens`, "ERR_INVALID_ARG_VALUE");
  }
  return {
    client: options.client,
    ttlMs: ttl(`${WHERE}: ttlMs`, options.ttlMs ?? 600_000),
    fieldName: checkText(`${WHERE}: fieldName`, options.fieldName ?? "_submit_token"),
    headerName,
    maxLiveTokens: checkInteger(`${WHERE}: maxLiveTokens`, options.maxLiveTokens ?? 100, {
      min: 1,
      max: 10_000,
      unit: "tokens",
    }),
    allowedOrigins: origins(options.allowedOrigins ?? []),
    tokenPrefix,
    livePrefix,
    commandTimeoutMs: checkInteger(`${WHERE}: commandTimeoutMs`, options.commandTimeoutMs ?? 2_000, {
      min: 1,
      max: 2 ** 31 - 1,
      unit: "milliseconds",
    }),
    // Last: it may warn.
    secrets: usableSecrets(options.secret, process.env["NODE_ENV"] === "production"),
  };
}

/** Checks and completes the options of `issue`. */
export function issueConfiguration(options: IssueOptions, ttlMs: number): { action: string; ttlMs: number } {
  const where = "issue";
  checkOptions(where, options, { action: true, ttlMs: true });
  return { action: action(where, options.action), ttlMs: ttl(`${where}: ttlMs`, options.ttlMs ?? ttlMs) };
}

/** Checks and completes the options of `protect`. */
export function protectConfiguration(options: ProtectOptions): ProtectConfiguration {
  const where = "protect";
  checkOptions(where, options, {
    action: true,
    release: true,
    requireFieldAndHeader: true,
    duplicateStatus: true,
    waitForResultMs: true,
    onRefused: true,
  });
  if (options.onRefused !== undefined) checkFunction(`${where}: onRefused`, options.onRefused);
  return {
    action: action(where, options.action),
    release: oneOf(`${where}: release`, options.release ?? "never", ["never", "on-error"]),
    requireFieldAndHeader: oneOf(`${where}: requireFieldAndHeader`, options.requireFieldAndHeader ?? false, [
      true,
      false,
    ]),
    duplicateStatus: oneOf(`${where}: duplicateStatus`, options.duplicateStatus ?? 409, [409, 422]),
    waitForResultMs: checkInteger(`${where}: waitForResultMs`, options.waitForResultMs ?? 0, {
      min: 0,
      max: 60_000,
      unit: "milliseconds",
    }),
    onRefused: options.onRefused,
  };
}

/** An action's name; empty for none. */
export function action(where: string, name: string | undefined): string {
  return name === undefined ? "" : checkText(`${where}: action`, name);
}

function ttl(where: string, value: unknown): number {
  return checkInteger(where, value, { min: 1, max: MAX_TTL_MS, unit: "milliseconds" });
}

function oneOf<T extends string | number | boolean>(where: string, value: unknown, allowed: readonly T[]): T {
  const found = allowed.find((each) => each === value);
  if (found !== undefined) return found;
  throw misuse(`${where}: expected ${allowed.join(" or ")}, got ${kindOf(value)}`, "ERR_INVALID_ARG_VALUE");
}

function origins(list: unknown): ReadonlySet<string> {
  if (!Array.isArray(list)) {
    throw misuse(`${WHERE}: allowedOrigins: expected a list, got ${kindOf(list)}`, "ERR_INVALID_ARG_TYPE");
  }
  for (const each of list) {
    if (typeof each === "string" && URL.canParse(each) && new URL(each).origin === each) continue;
    throw misuse(
      `${WHERE}: allowedOrigins: expected origins such as "https://www.example.org", without a path`,
      "ERR_INVALID_ARG_VALUE",
    );
  }
  return new Set(list);
}
