// @ts-check
/** The two sides of every comparison: connect-redis 9 on node-redis 5, which checks nothing, and this store on ioredis. */
import { RedisStore } from "connect-redis";
import { Redis } from "ioredis";
import { GenerationStore } from "logout-everywhere";
import { createClient } from "redis";

/** @typedef {{ name: string, store: import("express-session").Store & { touch: Function, set: Function, get: Function }, close(): Promise<void> }} Side */

/** @param {number} port @returns {Promise<Side>} */
export async function connectRedisSide(port) {
  const client = createClient({ url: `redis://127.0.0.1:${port}` });
  await client.connect();
  return {
    name: "connect-redis 9",
    store: /** @type {any} */ (new RedisStore({ client })),
    close: async () => client.destroy(),
  };
}

/** @param {number} port @param {object} [options] @returns {Promise<Side>} */
export async function ourSide(port, options = {}) {
  const client = new Redis(port, "127.0.0.1");
  const store = new GenerationStore({ client, ...options });
  return {
    name: "logout-everywhere",
    store: /** @type {any} */ (store),
    close: async () => {
      await store.close();
      client.disconnect();
    },
  };
}

/** A session as small applications have them: about 150 bytes of data. @param {number} n */
export function sampleData(n) {
  return { locale: "en-GB", cart: [{ sku: `sku-${n}`, quantity: 2 }], csrf: "x".repeat(43), theme: "dark", visits: n };
}

/** @param {number} maxAgeMs */
export function sampleCookie(maxAgeMs = 3_600_000) {
  return { originalMaxAge: maxAgeMs, expires: new Date(Date.now() + maxAgeMs), httpOnly: true, path: "/" };
}

/**
 * What stands in Redis for one signed-in session `s0`, `s1`, … on either side, as arguments of SET.
 *
 * @param {number} n
 * @returns {{ theirs: [string, string, "EX", number], ours: [string, string, "PX", number], counter: [string, string] }}
 */
export function sampleRecords(n) {
  const cookie = sampleCookie();
  const generation = "1796077988663367";
  const theirs = {
    cookie: { ...cookie, expires: cookie.expires.toISOString() },
    ...sampleData(n),
    userId: `user-${n}`,
  };
  const ours = { cookie: { originalMaxAge: cookie.originalMaxAge }, ...sampleData(n) };
  const head = `user-${n},${generation},at=1796077987953;n=${String(n).padStart(12, "A")},`;
  return {
    theirs: [`sess:s${n}`, JSON.stringify(theirs), "EX", 3_600],
    ours: [`session:s${n}`, head + JSON.stringify(ours), "PX", 3_660_000],
    counter: [`user_login_age:user-${n}`, generation],
  };
}

/**
 * Fills both sides with the same number of signed-in sessions `s0`, `s1`, …, one user each.
 *
 * @param {number} port
 * @param {number} sessions
 * @param {{ theirs?: boolean }} [sides] whether connect-redis gets its own as well
 */
export async function fill(port, sessions, { theirs: isBoth = true } = {}) {
  const client = new Redis(port, "127.0.0.1");
  for (let start = 0; start < sessions; start += 1_000) {
    const pipeline = client.pipeline();
    for (let n = start; n < Math.min(start + 1_000, sessions); n += 1) {
      const { theirs, ours, counter } = sampleRecords(n);
      if (isBoth) pipeline.set(...theirs);
      pipeline.set(...ours);
      pipeline.set(...counter);
    }
    await pipeline.exec();
  }
  client.disconnect();
}

/** @param {Side} side @param {string} sid @returns {Promise<any>} */
export function read({ store }, sid) {
  return new Promise((resolve, reject) => {
    store.get(sid, (/** @type {unknown} */ error, /** @type {unknown} */ session) => {
      if (error) reject(error);
      else if (!session) reject(new Error("a session that must be there was not read"));
      else resolve(session);
    });
  });
}

/** @param {Side} side @param {"set" | "touch"} method @param {string} sid @param {object} session */
export function write({ store }, method, sid, session) {
  return new Promise((resolve, reject) => {
    store[method](sid, session, (/** @type {unknown} */ error) => (error ? reject(error) : resolve(undefined)));
  });
}
