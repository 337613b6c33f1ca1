// @ts-check
import { Redis } from "ioredis";

/** @typedef {import("ioredis").Redis} Client */

/**
 * Connects to Redis; without a URL, to an embedded stand-in inside this process, for trying things out.
 *
 * @param {string | undefined} redisUrl
 * @returns {Promise<{ client: Client, description: string }>} `description` says in one line what was connected to.
 */
export async function connect(redisUrl) {
  if (redisUrl === undefined) {
    const { default: EmbeddedRedis } = await import("ioredis-mock");
    return {
      client: new EmbeddedRedis(),
      description:
        "Sessions are kept in an embedded store (ioredis-mock) and end with this process. Set REDIS_URL to use Redis.",
    };
  }
  const client = new Redis(redisUrl);
  logTrouble(client);
  // Not the whole URL: it may hold a password.
  return { client, description: `Sessions are kept in Redis at ${new URL(redisUrl).host}.` };
}

/**
 * Says once when the connection breaks and once when it is back; requests meanwhile get their 503 from the store.
 *
 * @param {Client} client
 */
function logTrouble(client) {
  let isDown = false;
  client.on("error", (/** @type {NodeJS.ErrnoException} */ error) => {
    if (!isDown) console.error(`Redis cannot be reached (${error.code ?? error.name}); trying again`);
    isDown = true;
  });
  client.on("ready", () => {
    if (isDown) console.error("Redis is back");
    isDown = false;
  });
}
