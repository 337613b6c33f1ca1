// @ts-check
/**
 * The application under load, in a process of its own: `node bench/app.mjs <side> <redis port>`. Prints its port; answers
 * GET / with the visitor's data, and tells its CPU time over IPC when asked.
 */
import { once } from "node:events";
import express from "express";
import session from "express-session";
import { connectRedisSide, ourSide } from "./sides.mjs";

const [side = "", redisPort = ""] = process.argv.slice(2);
const sides = {
  base: () => connectRedisSide(Number(redisPort)),
  ours: () => ourSide(Number(redisPort)),
  "ours-every-touch": () => ourSide(Number(redisPort), { touchIntervalMs: 0 }),
};
const { store } = await sides[side]();

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
