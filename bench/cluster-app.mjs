// @ts-check
/**
 * The application under load, on a cluster: `node bench/cluster-app.mjs <side> <redis ports>`. Prints its port; answers GET / with the
 * visitor's data, and tells its CPU time over IPC when asked.
 */
import { once } from "node:events";
import { RedisStore } from "connect-redis";
import { Cluster } from "ioredis";
import { GenerationStore } from "logout-everywhere";
import { createCluster } from "redis";
import { addPage, appWith, serve } from "./served.mjs";

const [side = "", redisPorts = ""] = process.argv.slice(2);
const ports = redisPorts.split(",").map(Number);

async function base() {
  const client = createCluster({ rootNodes: ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })) });
  await client.connect();
  return /** @type {import("express-session").Store} */ (/** @type {unknown} */ (new RedisStore({ client })));
}

/** @param {object} [options] */
async function ours(options = {}) {
  const client = new Cluster(ports.map((port) => ({ host: "127.0.0.1", port })));
  await once(client, "ready");
  return new GenerationStore({ client, ...options });
}

const sides = { base, ours: () => ours(), "ours-every-touch": () => ours({ touchIntervalMs: 0 }) };
const store = await sides[side]();

const app = appWith(store);
addPage(app);
await serve(app);
