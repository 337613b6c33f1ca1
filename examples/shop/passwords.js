// @ts-check
import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";

const derive =
  /** @type {(password: string, salt: Buffer, bytes: number, options: import("node:crypto").ScryptOptions) => Promise<Buffer>} */ (
    promisify(scrypt)
  );

/** One of the settings OWASP recommends: 16 MiB and, on a current machine, a few hundred milliseconds for each guess. */
const COST = { N: 2 ** 14, r: 8, p: 5 };
const KEY_BYTES = 32;
const SALT_BYTES = 16;

export const MIN_PASSWORD_LENGTH = 8;
export const MAX_PASSWORD_LENGTH = 200;

/**
 * Hashes a password, as text for the users' table: `scrypt$N$r$p$salt$key`. It carries its own cost, so that the cost can be
 * raised later without locking anybody out.
 *
 * @param {string} password
 * @returns {Promise<string>}
 */
export async function hashPassword(password) {
  const salt = randomBytes(SALT_BYTES);
  const key = await derive(normalize(password), salt, KEY_BYTES, COST);
  return ["scrypt", COST.N, COST.r, COST.p, salt.toString("base64url"), key.toString("base64url")].join("$");
}

/**
 * @param {string} password
 * @param {string} hash
 * @returns {Promise<boolean>}
 */
export async function passwordMatches(password, hash) {
  const [, N, r, p, salt = "", key = ""] = hash.split("$");
  const expected = Buffer.from(key, "base64url");
  const cost = { N: Number(N), r: Number(r), p: Number(p) };
  return timingSafeEqual(
    await derive(normalize(password), Buffer.from(salt, "base64url"), expected.length, cost),
    expected,
  );
}

/**
 * Keyboards differ in how they compose accented letters.
 *
 * @param {string} password
 */
function normalize(password) {
  return password.normalize("NFKC");
}
