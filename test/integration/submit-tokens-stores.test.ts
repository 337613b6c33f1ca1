import { RedisStore } from "connect-redis";
import express from "express";
import session, { MemoryStore, type Store } from "express-session";
import express4 from "express4";
import { createClient } from "redis";
import { expect, onTestFinished, test } from "vitest";
import { submitTokens } from "../../src/index.js";
import { Browser } from "../support/browser.js";
import { connect, freshDatabase } from "../support/clients.js";
import { serve } from "../support/serve.js";
import { DUPLICATE, submit, TOKEN_SECRET } from "../support/token-app.js";

async function connectRedis(port: number, db: number): Promise<Store> {
  const client = await createClient({ url: `redis://127.0.0.1:${port}/${db}` }).connect();
  onTestFinished(() => client.destroy());
  return new RedisStore({ client });
}

for (const [version, create] of [
  ["5", express],
  ["4", express4 as unknown as typeof express],
] as const) {
  test.each(["MemoryStore", "connect-redis"])(`C48: a token works once on Express ${version} with %s`, async (name) => {
    const { port, db } = await freshDatabase();
    const client = connect(port, { db }, "ioredis5");
    onTestFinished(() => client.disconnect());
    const tokens = submitTokens({ client, secret: TOKEN_SECRET });
    const store = name === "MemoryStore" ? new MemoryStore() : await connectRedis(port, db);
    const app = create();
    app.use(session({ store, secret: "test secret", resave: false, saveUninitialized: false }));
    app.use(create.urlencoded({ extended: true }));
    app.get("/token", (req, res, next) => {
      tokens.issue(req).then((token) => res.send(token), next);
    });
    app.post("/submit", tokens.protect(), (_req, res) => void res.json({ ok: true }));
    const base = await serve(app);
    const [device, stranger] = [new Browser(base), new Browser(base)];
    const token = (await device.get("/token")).text;
    await stranger.get("/token");
    expect((await submit(stranger, token)).text).toBe('{"error":"submit_token_invalid"}');
    expect((await submit(device, token)).status).toBe(200);
    expect((await submit(device, token)).text).toBe(DUPLICATE);
  });
}
