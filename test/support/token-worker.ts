/** One process of a shop with submit tokens, started by token-process.ts with its settings in the environment. */
import { once } from "node:events";
import express from "express";
import session from "express-session";
import { Redis } from "ioredis";
import { GenerationStore, type RedisClient, submitTokens } from "../../src/index.js";

const client = new Redis(Number(process.env["REDIS_PORT"]), "127.0.0.1", { db: Number(process.env["REDIS_DB"]) });
const redis = client as Redis & RedisClient;
const tokens = submitTokens({ client: redis, secret: process.env["SUBMIT_TOKEN_SECRET"] });
const app = express();
const store = new GenerationStore({ client: redis });
app.use(session({ store, secret: "test secret", resave: false, saveUninitialized: false }));
app.use(express.urlencoded({ extended: true }));
app.get("/token", async (req, res) => {
  res.send(await tokens.issue(req));
});
app.post("/submit", tokens.protect(), async (_req, res) => {
  await client.incr("handler:runs");
  // Long enough for the others to come while it works.
  await new Promise((resolve) => setTimeout(resolve, 30));
  res.json({ process: process.pid });
});
const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();
process.stdout.write(`listening on ${typeof address === "object" ? address?.port : ""}\n`);
// Whoever started it is gone.
process.stdin.resume().once("end", () => process.exit(0));
