// Compiled, never run: submit tokens as an application sees them, from the built package.
import express, { type Request, type Response } from "express";
import { Redis } from "ioredis";
import { type SubmitTokenControl, type SubmitTokenRefusal, type SubmitTokens, submitTokens } from "logout-everywhere";
import { type Equals, is } from "./equals.js";

const client = new Redis();
is<Equals<typeof tokens, SubmitTokens>>();
const tokens = submitTokens({ client, secret: ["new", Buffer.from("old")], ttlMs: undefined });
// @ts-expect-error: a client is needed
submitTokens({ secret: "s" });
// @ts-expect-error: no such option
submitTokens({ client, ttl: 600 });
// @ts-expect-error: a number is no secret
submitTokens({ client, secret: 7 });

const app = express();
app.get("/form", async (req, res) => {
  is<Equals<typeof token, string>>();
  const token = await tokens.issue(req, { action: "order", ttlMs: 60_000 });
  res.send(tokens.field(token));
});
app.get("/token", tokens.endpoint({ action: ["order", "refund"] }));
app.post(
  "/orders",
  tokens.protect({ action: "order", release: "on-error", duplicateStatus: 422 }),
  async (req, res) => {
    is<Equals<typeof req.submitToken, SubmitTokenControl | undefined>>();
    is<Equals<typeof committed, boolean | undefined>>();
    const committed = await req.submitToken?.commit({ location: "/orders/1" });
    res.json({ committed, released: await req.submitToken?.release() });
  },
);
tokens.protect({
  onRefused: (refusal: SubmitTokenRefusal, _req: Request, res: Response) => res.render("refused", { refusal }),
});
// @ts-expect-error: 409 or 422
tokens.protect({ duplicateStatus: 400 });
// @ts-expect-error: "never" or "on-error"
tokens.protect({ release: "always" });
