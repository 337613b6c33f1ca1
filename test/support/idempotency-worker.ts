/** One process of a shop with idempotency keys, started by idempotency-process.ts with its settings in the environment. */
import { once } from "node:events";
import express from "express";
import { Redis } from "ioredis";
import { idempotency, type RedisClient } from "../../src/index.js";

const client = new Redis(Number(process.env["REDIS_PORT"]), "127.0.0.1", { db: Number(process.env["REDIS_DB"]) });
const guard = idempotency({
  client: client as Redis & RedisClient,
  scope: () => "tests",
  leaseMs: Number(process.env["LEASE_MS"]),
});
const app = express();
app.post("/pay", express.json(), guard, async (req, res) => {
  const { workMs = 0, commits = false } = req.body;
  if (commits) await req.idempotency?.commit();
  await client.incr("handler:runs");
  await new Promise((resolve) => setTimeout(resolve, workMs));
  res.status(201).json({ process: process.pid, attempt: req.idempotency?.attempt });
});
const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();
process.stdout.write(`listening on ${typeof address === "object" ? address?.port : ""}\n`);
// Whoever started it is gone.
process.stdin.resume().once("end", () => process.exit(0));
