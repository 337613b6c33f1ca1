import { randomBytes } from "node:crypto";
import type { RedisConnection } from "../redis/connection.js";
import { isOutcomeUnknown } from "../redis/failure.js";
import { RetryLater } from "../redis/retry-later.js";
import { type ClaimReply, claimKey } from "./scripts/claim-key.js";
import { completeKey } from "./scripts/complete-key.js";
import { releaseKey } from "./scripts/release-key.js";
import { renewLease } from "./scripts/renew-lease.js";

/** A request's hold on a key: which record, and the nonce by which Redis knows this request from others. */
export interface Claim {
  readonly name: string;
  readonly nonce: string;
}

export interface ClaimStoreParts {
  readonly redis: RedisConnection;
  readonly keyPrefix: string;
  readonly leaseMs: number;
  readonly ttlMs: number;
  /** Whether a run that never ended may be begun anew while it has not committed. */
  readonly mayTakeOver: boolean;
}

/** Records of idempotency keys in Redis. All times are Redis'. */
export class ClaimStore {
  readonly #parts: ClaimStoreParts;
  readonly #later: RetryLater;

  constructor(parts: ClaimStoreParts) {
    this.#parts = parts;
    this.#later = new RetryLater(parts.redis);
  }

  newClaim(name: string): Claim {
    return { name, nonce: randomBytes(12).toString("base64url") };
  }

  /** Decides what becomes of the request. */
  async claim(claim: Claim, fingerprint: string): Promise<ClaimReply> {
    const { redis, leaseMs, ttlMs, mayTakeOver } = this.#parts;
    const args = [claim.nonce, fingerprint, String(leaseMs), String(ttlMs), mayTakeOver ? "1" : ""];
    try {
      return await redis.runRecognised(claimKey, this.#key(claim), args);
    } catch (error) {
      // Nothing runs for it, so nobody is to wait for its lease.
      if (isOutcomeUnknown(error)) this.#later.add(() => this.#release(claim), 0);
      throw error;
    }
  }

  /** Says that the run is alive; false once the key is no longer its own. */
  renew(claim: Claim): Promise<boolean> {
    return this.#renew(claim, "");
  }

  /** Marks the point of no return; false if the key is no longer this run's. */
  commit(claim: Claim): Promise<boolean> {
    return this.#renew(claim, "1");
  }

  /** Stores the answer, if the key is still this run's; when Redis is away, as soon as it is back. */
  async complete(claim: Claim, response: string): Promise<void> {
    const { redis } = this.#parts;
    const store = (): Promise<boolean> => redis.runRecognised(completeKey, this.#key(claim), [claim.nonce, response]);
    await store().catch(() => this.#later.add(store, response.length));
  }

  /** Frees the key for the next request, if it is still this run's; when Redis is away, as soon as it is back. */
  async release(claim: Claim): Promise<void> {
    await this.#release(claim).catch(() => this.#later.add(() => this.#release(claim), 0));
  }

  #release(claim: Claim): Promise<boolean> {
    return this.#parts.redis.runRecognised(releaseKey, this.#key(claim), [claim.nonce]);
  }

  #renew(claim: Claim, commit: "" | "1"): Promise<boolean> {
    const { redis, leaseMs } = this.#parts;
    const args = [claim.nonce, String(leaseMs), commit];
    return redis.runRecognised(renewLease, this.#key(claim), args);
  }

  #key({ name }: Claim): string {
    return this.#parts.keyPrefix + name;
  }
}
