import type { Session, SessionData } from "express-session";
import { checkFunction, checkInteger, checkOptions } from "../check.js";
import { checkClient, type RedisClient } from "../redis/client.js";
import { checkPrefixes } from "../redis/prefixes.js";
import { MAX_LIFETIME_MS } from "./lifetime.js";
import type { UserId } from "./user-id.js";

/** Options of `GenerationStore`. All times are in milliseconds. */
export interface GenerationStoreOptions {
  /** An ioredis 5 or 6 client (`Redis` or `Cluster`) or an ioredis-mock. The store neither configures nor closes it. */
  readonly client: RedisClient;
  /**
   * What session keys start with. No other key may.
   * @defaultValue `"session:"`
   */
  readonly sessionPrefix?: string | undefined;
  /**
   * What the keys of the users' generations start with.
   * @defaultValue `"user_login_age:"`
   */
  readonly generationPrefix?: string | undefined;
  /**
   * Lifetime of sessions whose cookie has no `maxAge`, from 1 ms to ten years. Sessions with a `maxAge` live that long.
   * @defaultValue 86 400 000 (one day)
   */
  readonly ttlMs?: number | undefined;
  /**
   * How long after a touch this process may leave out the next one; at most a tenth of the session's lifetime is used. Every
   * lifetime written is longer by as much, so no session dies before `maxAge` after the last request. 0: touch on every request.
   * @defaultValue 60 000 (one minute)
   */
  readonly touchIntervalMs?: number | undefined;
  /**
   * Longest time any operation takes before it fails with a coded error, waiting for a connection included.
   * @defaultValue 2 000
   */
  readonly commandTimeoutMs?: number | undefined;
  /**
   * How often to ask the server whether it is still a primary, from 10 ms to an hour; also on each new connection, before anything
   * else. One that was demoted goes on answering reads, from data that may lack the last logouts: with it that ends after this time,
   * without it at the first write. On a cluster it has no effect: there a demoted node serves no reads.
   * @defaultValue none: it is not asked
   */
  readonly primaryCheckIntervalMs?: number | undefined;
  /**
   * Lifetime of a user's generation while only a login attempt or a logout stands behind it (mistyped IDs, probes). A completed
   * login makes it stay for good.
   * @defaultValue 86 400 000 (one day)
   */
  readonly generationTtlMs?: number | undefined;
  /**
   * Longest life of a login, whatever the activity, counted from the login by Redis' clock. Not applied to anonymous sessions.
   * @defaultValue none
   */
  readonly absoluteTtlMs?: number | undefined;
  /**
   * Largest session that is stored, in bytes of JSON. A larger one fails its save with `ERR_SESSION_TOO_LARGE`.
   * @defaultValue 4 194 304 (4 MiB)
   */
  readonly maxSessionBytes?: number | undefined;
  /**
   * For login libraries that write the user into the session themselves: answers the user ID that session data names, or
   * `undefined`. With it, a user who appears in the data is a login, one who disappears a logout. Must be pure and fast: it
   * runs on every read and save. Without it, only `store.login` logs anybody in.
   * @defaultValue none
   * @example
   * ```ts
   * new GenerationStore({ client, userId: (session) => session.passport?.user });
   * ```
   */
  readonly userId?: UserIdOption | undefined;
}

/** The `userId` option: from session data to the user it names. */
export type UserIdOption = (session: Session & Partial<SessionData>) => UserId | null | undefined;

/** The options with all defaults filled in. */
export interface StoreConfiguration {
  readonly client: RedisClient;
  readonly sessionPrefix: string;
  readonly generationPrefix: string;
  readonly ttlMs: number;
  readonly touchIntervalMs: number;
  readonly commandTimeoutMs: number;
  readonly primaryCheckIntervalMs: number | undefined;
  readonly generationTtlMs: number;
  readonly absoluteTtlMs: number | undefined;
  readonly maxSessionBytes: number;
  readonly userId: UserIdOption | undefined;
}

const DAY_MS = 86_400_000;

const KNOWN: Readonly<Record<keyof GenerationStoreOptions, true>> = {
  client: true,
  sessionPrefix: true,
  generationPrefix: true,
  ttlMs: true,
  touchIntervalMs: true,
  commandTimeoutMs: true,
  primaryCheckIntervalMs: true,
  generationTtlMs: true,
  absoluteTtlMs: true,
  maxSessionBytes: true,
  userId: true,
};

const WHERE = "GenerationStore";

/** Checks the options and fills in the defaults; throws a `TypeError` that says what was expected. */
export function storeConfiguration(options: GenerationStoreOptions): StoreConfiguration {
  checkOptions(WHERE, options, KNOWN);
  checkClient(WHERE, options.client);
  const sessionPrefix = options.sessionPrefix ?? "session:";
  const generationPrefix = options.generationPrefix ?? "user_login_age:";
  checkPrefixes(WHERE, { sessionPrefix, generationPrefix });
  if (options.userId !== undefined) checkFunction(`${WHERE}: userId`, options.userId);
  return {
    client: options.client,
    sessionPrefix,
    generationPrefix,
    ttlMs: milliseconds("ttlMs", options.ttlMs ?? DAY_MS, 1, MAX_LIFETIME_MS),
    touchIntervalMs: milliseconds("touchIntervalMs", options.touchIntervalMs ?? 60_000, 0, MAX_LIFETIME_MS),
    // Longer than a timer can wait would end at once.
    commandTimeoutMs: milliseconds("commandTimeoutMs", options.commandTimeoutMs ?? 2_000, 1, 2 ** 31 - 1),
    primaryCheckIntervalMs:
      options.primaryCheckIntervalMs === undefined
        ? undefined
        : milliseconds("primaryCheckIntervalMs", options.primaryCheckIntervalMs, 10, 3_600_000),
    generationTtlMs: milliseconds("generationTtlMs", options.generationTtlMs ?? DAY_MS, 1, MAX_LIFETIME_MS),
    absoluteTtlMs:
      options.absoluteTtlMs === undefined
        ? undefined
        : milliseconds("absoluteTtlMs", options.absoluteTtlMs, 1, MAX_LIFETIME_MS),
    maxSessionBytes: checkInteger(`${WHERE}: maxSessionBytes`, options.maxSessionBytes ?? 4_194_304, {
      min: 1,
      max: 536_870_912,
      unit: "bytes",
    }),
    userId: options.userId,
  };
}

function milliseconds(name: string, value: unknown, min: number, max: number): number {
  return checkInteger(`${WHERE}: ${name}`, value, { min, max, unit: "milliseconds" });
}
