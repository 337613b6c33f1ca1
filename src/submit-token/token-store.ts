import { randomBytes } from "node:crypto";
import type { RedisConnection } from "../redis/connection.js";
import { isOutcomeUnknown } from "../redis/failure.js";
import { RetryLater } from "../redis/retry-later.js";
import { commitToken } from "./scripts/commit-token.js";
import { evictToken } from "./scripts/evict-token.js";
import { insertToken } from "./scripts/insert-token.js";
import { listToken } from "./scripts/list-token.js";
import { COMMITTED, SPENT } from "./scripts/lua-parts.js";
import { releaseToken } from "./scripts/release-token.js";
import { type SpendReply, spendToken } from "./scripts/spend-token.js";

/** What is known of the submission that a spent token went into. */
export interface FirstSubmission {
  /** It has said that it took effect. */
  readonly isCommitted: boolean;
  /** Where it said its result is. */
  readonly location: string | undefined;
}

export type SpendOutcome =
  | { readonly kind: "spent"; readonly token: SpentToken }
  | { readonly kind: "unknown" }
  | { readonly kind: "foreign" }
  | { readonly kind: "duplicate"; readonly first: FirstSubmission };

/** A token that this request has spent. */
export interface SpentToken {
  readonly token: string;
  readonly binding: string;
  readonly nonce: string;
}

export interface TokenStoreParts {
  readonly redis: RedisConnection;
  readonly tokenPrefix: string;
  readonly livePrefix: string;
  readonly maxLiveTokens: number;
}

/** Tokens in Redis: one key each, and an index per session that caps them. */
export class TokenStore {
  readonly #parts: TokenStoreParts;
  readonly #later: RetryLater;

  constructor(parts: TokenStoreParts) {
    this.#parts = parts;
    this.#later = new RetryLater(parts.redis);
  }

  /** Stores a token; false if there is one of that text. */
  async insert(token: string, binding: string, session: string, ttlMs: number): Promise<boolean> {
    const { redis, livePrefix, maxLiveTokens } = this.#parts;
    const life = String(Math.ceil(ttlMs));
    // Sent together, the index first: a process that dies in between leaves an entry without a token, never the reverse.
    const [evicted, isStored] = await Promise.all([
      redis.run(listToken, livePrefix + session, [token, life, String(maxLiveTokens)]),
      redis.run(insertToken, this.#key(token), [binding, life]),
    ]);
    await Promise.all(evicted.map((old) => redis.run(evictToken, this.#key(old), [])));
    return isStored;
  }

  /** Checks and spends a token in one step. */
  async spend(token: string, binding: string): Promise<SpendOutcome> {
    const spent: SpentToken = { token, binding, nonce: randomBytes(12).toString("base64url") };
    const reply = await this.#spendSurely(spent);
    if (reply.kind === "mine") return { kind: "spent", token: spent };
    if (reply.kind === "spent") return { kind: "duplicate", first: readTombstone(reply.tombstone) };
    return { kind: reply.kind };
  }

  /** Gives a token back for the rest of its life; false if this request did not spend it, or has committed. */
  release({ token, binding, nonce }: SpentToken): Promise<boolean> {
    return this.#parts.redis.run(releaseToken, this.#key(token), [binding, nonce]);
  }

  /** Tells those who come with the same token that this submission took effect, and where its result is. */
  commit({ token, nonce }: SpentToken, location: string): Promise<boolean> {
    return this.#parts.redis.run(commitToken, this.#key(token), [nonce, location]);
  }

  /** What is known by now of the submission that a token went into. */
  async firstSubmission(token: string): Promise<FirstSubmission> {
    const [value] = await this.#parts.redis.mget([this.#key(token)]);
    return readTombstone(value ?? "");
  }

  /** A lost reply leaves open whether the token is spent. The nonce makes asking again safe: it then says "mine". */
  async #spendSurely(spent: SpentToken): Promise<SpendReply> {
    const { redis } = this.#parts;
    try {
      return await redis.runRecognised(spendToken, this.#key(spent.token), [spent.binding, spent.nonce]);
    } catch (error) {
      // Nothing was done for this token, so it is to be good again once Redis can be reached.
      if (isOutcomeUnknown(error)) this.#later.add(() => this.release(spent), 0);
      throw error;
    }
  }

  #key(token: string): string {
    return this.#parts.tokenPrefix + token;
  }
}

function readTombstone(value: string): FirstSubmission {
  const at = value.startsWith(SPENT) ? value.indexOf(COMMITTED, SPENT.length) : -1;
  const location = at < 0 ? "" : value.slice(at + COMMITTED.length);
  return { isCommitted: at >= 0, location: location === "" ? undefined : location };
}
