// @ts-check
/**
 * The application of the parts `guards` and `login`, in a process of its own: `node bench/guards-app.mjs <side> <redis port>`.
 * Tells its port, mints submit tokens and tells its CPU time over IPC.
 */
import express from "express";
import session from "express-session";
import { Redis } from "ioredis";
import { idempotency, submitTokens } from "logout-everywhere";
import { serve } from "./served.mjs";
import { connectRedisSide, ourSide } from "./sides.mjs";

const [side = "ours", redisPort = ""] = process.argv.slice(2);
const isOurs = side === "ours";
const { store } = isOurs ? await ourSide(Number(redisPort)) : await connectRedisSide(Number(redisPort));
const client = new Redis(Number(redisPort), "127.0.0.1");
const tokens = submitTokens({ client, secret: "a secret of the benchmark, long enough" });

const app = express();
app.disable("x-powered-by");
app.disable("etag");
app.get("/nothing", (_req, res) => {
  res.json({ ok: true });
});
app.get("/ping", async (_req, res) => {
  await client.ping();
  res.json({ ok: true });
});
app.use(
  session({ store, secret: "benchmark", resave: false, saveUninitialized: false, cookie: { maxAge: 3_600_000 } }),
);
app.post("/session", (_req, res) => {
  res.json({ ok: true });
});
app.get("/issue", async (req, res) => {
  res.json({ token: await tokens.issue(req) });
});
app.post("/spend", tokens.protect(), (_req, res) => {
  res.json({ ok: true });
});
app.post("/idempotent", express.json(), idempotency({ client }), (_req, res) => {
  res.status(201).json({ ok: true });
});
app.post("/login", async (req, res) => {
  const userId = req.get("x-user") ?? "";
  if (isOurs) {
    const ours = /** @type {import("logout-everywhere").GenerationStore} */ (/** @type {unknown} */ (store));
    await ours.login(req, await ours.beginLogin(userId, req));
  } else {
    await new Promise((resolve, reject) => req.session.regenerate((error) => (error ? reject(error) : resolve(0))));
    Object.assign(req.session, { userId });
  }
  res.json({ ok: true });
});

await serve(app);
