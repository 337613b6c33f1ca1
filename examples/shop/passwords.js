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

/** @typedef {{ readonly salt: Buffer, readonly key: Buffer }} PasswordHash */

/**
 * @param {string} password
 * @returns {Promise<PasswordHash>}
 */
export async function hashPassword(password) {
  const salt = randomBytes(SALT_BYTES);
  return { salt, key: await derive(normalize(password), salt, KEY_BYTES, COST) };
}

/**
 * @param {string} password
 * @param {PasswordHash} hash
 * @returns {Promise<boolean>}
 */
export async function passwordMatches(password, { salt, key }) {
  return timingSafeEqual(await derive(normalize(password), salt, KEY_BYTES, COST), key);
}

/**
 * Keyboards differ in how they compose accented letters.
 *
 * @param {string} password
 */
function normalize(password) {
  return password.normalize("NFKC");
}
