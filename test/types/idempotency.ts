// Compiled, never run: idempotency keys as an application sees them, from the built package.
import express, { type Request, type Response } from "express";
import { Redis } from "ioredis";
import {
  type IdempotencyAnswer,
  type IdempotencyControl,
  type IdempotencyRefusal,
  idempotency,
} from "logout-everywhere";
import { type Equals, is } from "./equals.js";

const client = new Redis();
const app = express();
app.post("/payments", idempotency({ client }), async (req, res) => {
  is<Equals<typeof req.idempotency, IdempotencyControl | undefined>>();
  await req.idempotency?.commit();
  is<Equals<typeof signal, AbortSignal | undefined>>();
  const signal = req.idempotency?.signal;
  res.status(201).json({ isLost: signal?.aborted, attempt: req.idempotency?.attempt });
});
app.use(
  idempotency({
    client,
    ttlMs: undefined,
    required: false,
    failOpen: true,
    methods: ["POST", "PUT"],
    scope: (req: Request) => req.get("x-tenant"),
    key: (req: Request) => req.body?._submit_token,
    fingerprint: (req: Request) => Buffer.from(req.get("x-digest") ?? ""),
    keep: ({ status, isCommitted }: IdempotencyAnswer) => (status === 500 ? !isCommitted : undefined),
    replayHeaders: ["X-Order"],
    onCrash: "refuse",
    onRefused: (refusal: IdempotencyRefusal, _req: Request, res: Response) => res.render("refused", { refusal }),
  }),
);
// @ts-expect-error: a client is needed
idempotency({ ttlMs: 5 });
// @ts-expect-error: no such option
idempotency({ client, ttl: 600 });
// @ts-expect-error: "rerun" or "refuse"
idempotency({ client, onCrash: "retry" });
// @ts-expect-error: a number is no scope
idempotency({ client, scope: () => 7 });
// @ts-expect-error: no promise: the answer waits for nobody
idempotency({ client, keep: async () => true });
