// @ts-check
import { randomBytes } from "node:crypto";

/**
 * @typedef {object} Settings
 * @property {number} port PORT, 3000 by default; 0 takes any free port.
 * @property {string} host HOST, by default 127.0.0.1: the demo users' passwords are public, so only this machine may come in.
 * @property {string | undefined} redisUrl REDIS_URL; without it an embedded store is used.
 * @property {string} sessionSecret SESSION_SECRET, which signs the cookies. All processes that serve one shop need the same.
 * @property {boolean} hasOwnSecret Whether SESSION_SECRET was set.
 * @property {string} submitTokenSecret SUBMIT_TOKEN_SECRET, which signs the order form's tokens; the same in all processes.
 * @property {boolean} hasOwnTokenSecret Whether SUBMIT_TOKEN_SECRET was set.
 * @property {number | string | undefined} trustProxy TRUST_PROXY: set it if, and only if, a proxy in front ends TLS: how many proxies
 *   there are, or their addresses, as Express' "trust proxy" takes them. Cookies are then sent through https only.
 * @property {number} adminMaxAgeMs ADMIN_MAX_AGE_MS: how old a login may be for the admin pages, 15 minutes by default.
 * @property {number} orderDelayMs ORDER_DELAY_MS: how long an order or a payment takes, 0 by default; more leaves time for a second click.
 */

/**
 * Reads the settings from the environment; throws an error with the code `ERR_SHOP_SETTING` that says which one is wrong.
 *
 * @param {Readonly<Record<string, string | undefined>>} env
 * @returns {Settings}
 */
export function readSettings(env) {
  const { HOST, REDIS_URL, SESSION_SECRET, SUBMIT_TOKEN_SECRET, TRUST_PROXY } = env;
  return {
    port: integer(env, "PORT", 3000, 0, 65_535),
    host: HOST || "127.0.0.1",
    redisUrl: REDIS_URL ? redisUrl(REDIS_URL) : undefined,
    sessionSecret: SESSION_SECRET || randomSecret(),
    hasOwnSecret: Boolean(SESSION_SECRET),
    submitTokenSecret: SUBMIT_TOKEN_SECRET ? tokenSecret(SUBMIT_TOKEN_SECRET, env["NODE_ENV"]) : randomSecret(),
    hasOwnTokenSecret: Boolean(SUBMIT_TOKEN_SECRET),
    trustProxy: TRUST_PROXY ? proxies(TRUST_PROXY) : undefined,
    adminMaxAgeMs: integer(env, "ADMIN_MAX_AGE_MS", 15 * 60_000, 1, 86_400_000),
    orderDelayMs: integer(env, "ORDER_DELAY_MS", 0, 0, 60_000),
  };
}

function randomSecret() {
  return randomBytes(32).toString("base64url");
}

/**
 * The library refuses such secrets as well; here the sentence names the setting.
 *
 * @param {string} secret
 * @param {string | undefined} environment
 */
function tokenSecret(secret, environment) {
  const bytes = Buffer.from(secret);
  if (environment === "production" && (bytes.length < 32 || new Set(bytes).size < 10)) {
    throw settingError("SUBMIT_TOKEN_SECRET: expected 32 random bytes or more, as `openssl rand -base64 48` prints");
  }
  return secret;
}

/**
 * @param {Readonly<Record<string, string | undefined>>} env
 * @param {string} name
 * @param {number} byDefault
 * @param {number} min
 * @param {number} max
 */
function integer(env, name, byDefault, min, max) {
  const text = env[name] || String(byDefault);
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max) {
    throw settingError(`${name}: expected a whole number from ${min} to ${max}`);
  }
  return value;
}

/** @param {string} text */
function redisUrl(text) {
  // The value may hold a password: messages do not repeat it.
  if (!/^rediss?:\/\//.test(text) || !URL.canParse(text)) {
    throw settingError("REDIS_URL: expected redis://host:port or rediss://host:port");
  }
  return text;
}

/** @param {string} text */
function proxies(text) {
  if (/^[1-9]\d?$/.test(text)) return Number(text);
  // "true" would believe whatever any client claims in X-Forwarded-For.
  if (/^(?:true|false|\d+)$/.test(text)) {
    throw settingError("TRUST_PROXY: expected the number of proxies (1), or their addresses (loopback, 10.0.0.0/8)");
  }
  return text;
}

/** @param {string} message */
function settingError(message) {
  return Object.assign(new Error(message), { code: "ERR_SHOP_SETTING" });
}
