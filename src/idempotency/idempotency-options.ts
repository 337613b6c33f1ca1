import { checkFunction, checkInteger, checkOptions, checkText, kindOf, misuse } from "../check.js";
import { checkClient, type RedisClient } from "../redis/client.js";
import type { FingerprintOption } from "./fingerprint.js";
import type { KeepOption } from "./keep-policy.js";
import type { ScopeOption } from "./scope.js";
import { mayReplay } from "./stored-response.js";

/** Why a request did not run. */
export interface IdempotencyRefusal {
  /** The response's status; already set on it. */
  readonly status: number;
  /** The code of the JSON answer. */
  readonly error:
    | "idempotency_key_required"
    | "idempotency_key_too_long"
    | "idempotency_key_invalid"
    | "idempotency_scope_required"
    | "idempotency_body_unreadable"
    | "idempotency_key_reused"
    | "idempotency_in_progress"
    | "outcome_unknown";
}

/** Options of `idempotency`. All times are in milliseconds. */
export interface IdempotencyOptions {
  /** An ioredis 5 or 6 client (`Redis` or `Cluster`) or an ioredis-mock. It is neither configured nor closed. */
  readonly client: RedisClient;
  /**
   * How long a key is remembered, counted from its first request, from 1 ms to 30 days. Replays do not extend it.
   * @defaultValue 86 400 000 (24 hours)
   */
  readonly ttlMs?: number | undefined;
  /**
   * Whether a request without a key is refused. If not, it runs unguarded.
   * @defaultValue true
   */
  readonly required?: boolean | undefined;
  /**
   * The methods that are guarded; requests with others pass.
   * @defaultValue `["POST", "PATCH"]`
   */
  readonly methods?: readonly string[] | undefined;
  /**
   * Whose keys they are, for requests without a login or a session: an API client, a tenant. Nobody can read, block or poison a
   * key of another scope. `undefined` leaves it to the login or the session.
   * @defaultValue the signed-in user, else the session the request came with, else the request is refused
   */
  readonly scope?: ScopeOption | undefined;
  /**
   * Where else a key may be, when there is no `Idempotency-Key` header: forms without JavaScript cannot set one, and can use their
   * submit token: `(req) => req.body?._submit_token`.
   * @defaultValue none
   */
  readonly key?: ((req: never) => string | undefined) | undefined;
  /**
   * What makes the body of a request the same as another's, for bodies that no parser reads.
   * @defaultValue the parsed body; see docs/idempotency.md
   */
  readonly fingerprint?: FingerprintOption | undefined;
  /**
   * Which answers are kept. Never asked once the handler has committed.
   * @defaultValue all below 500 but 401, 403, 407, 408, 413, 421, 423, 425, 426 and 429
   */
  readonly keep?: KeepOption | undefined;
  /**
   * Further headers to replay, beside the content's own and `Location`, `Link`, `ETag`, `Last-Modified`.
   * @defaultValue none
   */
  readonly replayHeaders?: readonly string[] | undefined;
  /**
   * How long a run counts as alive without a sign of life, from 100 ms to one hour. Signs are given three times as often. After a
   * crash, retries are refused for so long.
   * @defaultValue 30 000
   */
  readonly leaseMs?: number | undefined;
  /**
   * Longest time a handler is kept alive for, from 100 ms to one day: one that never answers does not hold its key for ever.
   * @defaultValue 300 000 (five minutes)
   */
  readonly maxRunMs?: number | undefined;
  /**
   * What happens to a run that died before it committed: the next request runs (`"rerun"`), or is told `outcome_unknown` (`"refuse"`).
   * @defaultValue `"rerun"`
   */
  readonly onCrash?: "rerun" | "refuse" | undefined;
  /**
   * How long a request waits for the one that runs under its key before it is told so, from 0 to 60 000 ms.
   * @defaultValue 0
   */
  readonly waitMs?: number | undefined;
  /**
   * Largest body that is kept, in bytes. Of a larger one only the status is, and a repeat is told `response_not_replayable`.
   * @defaultValue 262 144 (256 KiB)
   */
  readonly maxBodyBytes?: number | undefined;
  /**
   * Only together with `required: false`: run requests unguarded while Redis cannot be asked.
   * @defaultValue false: they fail with 503
   */
  readonly failOpen?: boolean | undefined;
  /**
   * Answers a refused request in place of the default JSON. The status is set already.
   * @defaultValue none
   */
  readonly onRefused?:
    | ((refusal: IdempotencyRefusal, req: never, res: never, next: (error?: unknown) => void) => unknown)
    | undefined;
  /**
   * What the keys of the records start with. No other key may.
   * @defaultValue `"idempotency:"`
   */
  readonly keyPrefix?: string | undefined;
  /**
   * Longest time an operation on Redis takes before it fails with a coded error.
   * @defaultValue 2 000
   */
  readonly commandTimeoutMs?: number | undefined;
}

/** The options with all defaults filled in. */
export interface IdempotencyConfiguration {
  readonly client: RedisClient;
  readonly ttlMs: number;
  readonly required: boolean;
  readonly methods: ReadonlySet<string>;
  readonly scope: ScopeOption | undefined;
  readonly key: ((req: never) => string | undefined) | undefined;
  readonly fingerprint: FingerprintOption | undefined;
  readonly keep: KeepOption | undefined;
  readonly replayHeaders: readonly string[];
  readonly leaseMs: number;
  readonly maxRunMs: number;
  readonly mayTakeOver: boolean;
  readonly waitMs: number;
  readonly maxBodyBytes: number;
  readonly failOpen: boolean;
  readonly onRefused: IdempotencyOptions["onRefused"];
  readonly keyPrefix: string;
  readonly commandTimeoutMs: number;
}

const WHERE = "idempotency";
const DAY_MS = 86_400_000;

const KNOWN: Readonly<Record<keyof IdempotencyOptions, true>> = {
  client: true,
  ttlMs: true,
  required: true,
  methods: true,
  scope: true,
  key: true,
  fingerprint: true,
  keep: true,
  replayHeaders: true,
  leaseMs: true,
  maxRunMs: true,
  onCrash: true,
  waitMs: true,
  maxBodyBytes: true,
  failOpen: true,
  onRefused: true,
  keyPrefix: true,
  commandTimeoutMs: true,
};

/** Checks the options and fills in the defaults; throws a `TypeError` that says what was expected. */
export function idempotencyConfiguration(options: IdempotencyOptions): IdempotencyConfiguration {
  checkOptions(WHERE, options, KNOWN);
  checkClient(WHERE, options.client);
  for (const name of ["scope", "key", "fingerprint", "keep", "onRefused"] as const) {
    if (options[name] !== undefined) checkFunction(`${WHERE}: ${name}`, options[name]);
  }
  const required = flag("required", options.required, true);
  const failOpen = flag("failOpen", options.failOpen, false);
  if (required && failOpen) {
    throw misuse(
      `${WHERE}: failOpen: only with required: false; a required key cannot be left out`,
      "ERR_INVALID_ARG_VALUE",
    );
  }
  const { onCrash = "rerun" } = options;
  if (onCrash !== "rerun" && onCrash !== "refuse") {
    throw misuse(`${WHERE}: onCrash: expected "rerun" or "refuse", got ${kindOf(onCrash)}`, "ERR_INVALID_ARG_VALUE");
  }
  return {
    client: options.client,
    ttlMs: milliseconds("ttlMs", options.ttlMs ?? DAY_MS, 1, 30 * DAY_MS),
    required,
    methods: new Set(methods(options.methods ?? ["POST", "PATCH"])),
    scope: options.scope,
    key: options.key,
    fingerprint: options.fingerprint,
    keep: options.keep,
    replayHeaders: headers(options.replayHeaders ?? []),
    leaseMs: milliseconds("leaseMs", options.leaseMs ?? 30_000, 100, 3_600_000),
    maxRunMs: milliseconds("maxRunMs", options.maxRunMs ?? 300_000, 100, DAY_MS),
    mayTakeOver: onCrash === "rerun",
    waitMs: milliseconds("waitMs", options.waitMs ?? 0, 0, 60_000),
    maxBodyBytes: checkInteger(`${WHERE}: maxBodyBytes`, options.maxBodyBytes ?? 262_144, {
      min: 0,
      max: 67_108_864,
      unit: "bytes",
    }),
    failOpen,
    onRefused: options.onRefused,
    keyPrefix: checkText(`${WHERE}: keyPrefix`, options.keyPrefix ?? "idempotency:"),
    commandTimeoutMs: milliseconds("commandTimeoutMs", options.commandTimeoutMs ?? 2_000, 1, 2 ** 31 - 1),
  };
}

function milliseconds(name: string, value: unknown, min: number, max: number): number {
  return checkInteger(`${WHERE}: ${name}`, value, { min, max, unit: "milliseconds" });
}

function flag(name: string, value: unknown, byDefault: boolean): boolean {
  if (value === undefined) return byDefault;
  if (typeof value === "boolean") return value;
  throw misuse(`${WHERE}: ${name}: expected true or false, got ${kindOf(value)}`, "ERR_INVALID_ARG_TYPE");
}

function methods(list: unknown): string[] {
  const isList = Array.isArray(list) && list.length > 0 && list.every((name) => typeof name === "string");
  if (isList && list.every((name) => /^[A-Z]+$/.test(name) && !["GET", "HEAD", "OPTIONS", "TRACE"].includes(name))) {
    return list;
  }
  throw misuse(
    `${WHERE}: methods: expected a list of upper-case methods that change something, such as ["POST", "PATCH"]`,
    "ERR_INVALID_ARG_VALUE",
  );
}

function headers(list: unknown): readonly string[] {
  if (!Array.isArray(list) || !list.every((name) => typeof name === "string" && /^[A-Za-z0-9-]+$/.test(name))) {
    throw misuse(`${WHERE}: replayHeaders: expected a list of header names`, "ERR_INVALID_ARG_TYPE");
  }
  const refused = list.find((name: string) => !mayReplay(name));
  if (refused === undefined) return list;
  throw misuse(
    `${WHERE}: replayHeaders: ${refused} belongs to one request and is never replayed`,
    "ERR_INVALID_ARG_VALUE",
  );
}
