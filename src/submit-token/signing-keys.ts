import { createHmac, hkdfSync, randomBytes } from "node:crypto";
import { kindOf, misuse } from "../check.js";

/** A secret as the application has it: text, or bytes as key services hand them out. */
export type Secret = string | Uint8Array;

const WHERE = "submitTokens: secret";
const MIN_BYTES = 32;
const MIN_DISTINCT = 10;

/**
 * The keys that sign tokens, derived from the application's secrets for this one purpose (HKDF, RFC 5869), so that a secret
 * shared with cookies or other libraries signs nothing that could pass for a token. The first signs, all verify.
 */
export class SigningKeys {
  readonly #keys: readonly Buffer[];

  constructor(secrets: readonly Secret[]) {
    this.#keys = secrets.map((secret) =>
      Buffer.from(hkdfSync("sha256", secret, "", "logout-everywhere: submit token, v1", 32)),
    );
  }

  sign(text: string): Buffer {
    const [first] = this.#keys;
    if (first === undefined) throw misuse(`${WHERE}: expected at least one secret`, "ERR_INVALID_ARG_VALUE");
    return mac(first, text);
  }

  /** What each key would have signed. */
  candidates(text: string): Buffer[] {
    return this.#keys.map((key) => mac(key, text));
  }
}

function mac(key: Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

/**
 * The secrets to use; throws a `TypeError` for what is no secret and, in production, for a missing or weak one. Elsewhere a
 * missing secret is replaced by a random one of this process and a weak one is taken, both with a warning.
 */
export function usableSecrets(secret: unknown, isProduction: boolean): readonly Secret[] {
  const secrets = secret === undefined ? [] : [secret].flat();
  for (const each of secrets) checkSecret(each);
  if (secrets.length === 0) {
    if (isProduction) throw misuse(`${WHERE}: missing; ${ADVICE}`, "ERR_INVALID_ARG_VALUE");
    warn("RANDOM_SECRET", "none is given, so tokens are good in this process only, until it ends");
    return [randomBytes(MIN_BYTES)];
  }
  if ((secrets as Secret[]).some(isWeak)) {
    if (isProduction) throw misuse(`${WHERE}: too weak; ${ADVICE}`, "ERR_INVALID_ARG_VALUE");
    warn("WEAK_SECRET", `too weak, and refused when NODE_ENV is "production"; ${ADVICE}`);
  }
  return secrets as Secret[];
}

const ADVICE = `give ${MIN_BYTES} random bytes or more from the environment or a key service, such as \`openssl rand -base64 48\` prints`;

function checkSecret(secret: unknown): void {
  const isSecret = typeof secret === "string" || secret instanceof Uint8Array;
  if (isSecret && secret.length > 0) return;
  throw misuse(
    `${WHERE}: expected a non-empty string, a Uint8Array or a list of these, got ${kindOf(secret)}`,
    "ERR_INVALID_ARG_TYPE",
  );
}

function isWeak(secret: Secret): boolean {
  const bytes = Buffer.from(secret as string);
  return bytes.length < MIN_BYTES || new Set(bytes).size < MIN_DISTINCT;
}

function warn(code: string, text: string): void {
  process.emitWarning(`${WHERE}: ${text}`, {
    type: "LogoutEverywhereWarning",
    code: `LOGOUT_EVERYWHERE_${code}`,
  });
}
