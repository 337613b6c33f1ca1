import { randomBytes, timingSafeEqual } from "node:crypto";
import { lengthPrefixed } from "../digest.js";
import type { SigningKeys } from "./signing-keys.js";

/** What the text of a token says, before Redis is asked. */
export type TokenVerdict = "good" | "expired" | "invalid";

/** Redis keeps a token a little longer than its signature is good, for clocks that differ. */
const DRIFT_MS = 2_000;
const RANDOM_BYTES = 24;
/** `v1.<issued, ms, base 36>.<life, ms, base 36>.<random>.<HMAC-SHA256>`; bounded, so a megabyte is refused unread. */
const FORMAT = /^v1\.([0-9a-z]{1,11})\.([0-9a-z]{1,8})\.([A-Za-z0-9_-]{32})\.([A-Za-z0-9_-]{43})$/;
const MAX_LENGTH = 128;

/** Makes and checks the text of tokens. Their meaning beyond it (unspent, known) is in Redis. */
export class TokenCodec {
  readonly #keys: SigningKeys;

  constructor(keys: SigningKeys) {
    this.#keys = keys;
  }

  /** A new token for a binding, good for `ttlMs` less the drift. */
  make(binding: string, ttlMs: number): string {
    const parts = [
      Date.now().toString(36),
      signedLifeMs(ttlMs).toString(36),
      randomBytes(RANDOM_BYTES).toString("base64url"),
    ];
    return ["v1", ...parts, this.#keys.sign(signedText(parts, binding)).toString("base64url")].join(".");
  }

  /** Judges a text that claims to be a token for this binding; `invalid` covers malformed, forged and another binding's. */
  check(text: string, binding: string): TokenVerdict {
    const [, issued = "", life = "", random = "", mac = ""] = (text.length <= MAX_LENGTH && FORMAT.exec(text)) || [];
    const given = Buffer.from(mac, "base64url");
    // Re-encoded, as the last character of base64url has bits that decoding ignores: one token, one text, one key in Redis.
    if (mac === "" || given.toString("base64url") !== mac) return "invalid";
    const candidates = this.#keys.candidates(signedText([issued, life, random], binding));
    if (!candidates.some((candidate) => timingSafeEqual(candidate, given))) return "invalid";
    return Date.now() < Number.parseInt(issued, 36) + Number.parseInt(life, 36) ? "good" : "expired";
  }
}

function signedText(parts: readonly string[], binding: string): string {
  return lengthPrefixed(["v1", ...parts, binding]);
}

/** Two seconds less than Redis keeps it; of short lives a tenth. */
function signedLifeMs(ttlMs: number): number {
  return ttlMs - Math.min(DRIFT_MS, Math.floor(ttlMs / 10));
}
