// @ts-check
/**
 * The application under load, on a cluster: `node bench/cluster-app.mjs <side> <redis ports>`. Prints its port; answers GET / with the
 * visitor's data, and tells its CPU time over IPC when asked.
 */
import { once } from "node:events";
import { RedisStore } from "connect-redis";
import express from "express";
import session from "express-session";
import { Cluster } from "ioredis";
import { GenerationStore } from "logout-everywhere";
import { createCluster } from "redis";

const [side = "", redisPorts = ""] = process.argv.slice(2);
const ports = redisPorts.split(",").map(Number);

async function base() {
  const client = createCluster({ rootNodes: ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })) });
  await client.connect();
  return /** @type {session.Store} */ (/** @type {unknown} */ (new RedisStore({ client })));
}

/** @param {object} [options] */
async function ours(options = {}) {
  const client = new Cluster(ports.map((port) => ({ host: "127.0.0.1", port })));
  await once(client, "ready");
  return new GenerationStore({ client, ...options });
}

const sides = { base, ours: () => ours(), "ours-every-touch": () => ours({ touchIntervalMs: 0 }) };
const store = await sides[side]();

const app = express();
app.disable("x-powered-by");
app.disable("etag");
app.use(
  session({ store, secret: "benchmark", resave: false, saveUninitialized: false, cookie: { maxAge: 3_600_000 } }),
);
app.get("/", (req, res) => {
  const { cart } = /** @type {any} */ (req.session);
  if (cart === undefined) res.status(500).end("not signed in");
  else res.json({ cart });
});
const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();
process.send?.({ port: typeof address === "object" ? address?.port : undefined });
process.on("message", () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ cpuUs: user + system });
});
process.on("disconnect", () => process.exit());
