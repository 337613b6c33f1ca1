// @ts-check
import { fileURLToPath } from "node:url";
import express from "express";
import session from "express-session";
import { GenerationStore, submitTokens } from "logout-everywhere";
import { accountRoutes } from "./account.js";
import { adminRoutes } from "./admin.js";
import { errorHandler, notFound } from "./errors.js";
import { signedInGuard } from "./guards.js";
import { orderRoutes } from "./ordering.js";
import { paymentRoutes } from "./paying.js";
import { httpsOnly, noStore, sameOriginOnly, securityHeaders } from "./security.js";
import { ABSOLUTE_TTL_MS, sessionOptions } from "./session.js";
import { signInRoutes } from "./sign-in.js";
import { Users } from "./users.js";

/**
 * What the routes work with.
 *
 * @typedef {object} Shop
 * @property {GenerationStore} store
 * @property {import("logout-everywhere").RedisClient} client
 * @property {Users} users
 * @property {ReturnType<typeof signedInGuard>} signedIn
 * @property {ReturnType<typeof sessionOptions>} sessionOptions
 * @property {number} adminMaxAgeMs
 * @property {import("logout-everywhere").SubmitTokens} tokens
 * @property {number} orderDelayMs
 */

/**
 * @typedef {object} AppOptions
 * @property {import("logout-everywhere").RedisClient} client
 * @property {string} sessionSecret
 * @property {string} submitTokenSecret
 * @property {number | string | undefined} [trustProxy] See settings.js.
 * @property {number} [adminMaxAgeMs]
 * @property {number} [orderDelayMs]
 */

/**
 * The shop as an Express application, and the store its sessions are in.
 *
 * @param {AppOptions} options
 */
export function createApp({
  client,
  sessionSecret,
  submitTokenSecret,
  trustProxy,
  adminMaxAgeMs = 15 * 60_000,
  orderDelayMs = 0,
}) {
  const isBehindTls = trustProxy !== undefined;
  const store = new GenerationStore({ client, absoluteTtlMs: ABSOLUTE_TTL_MS });
  const tokens = submitTokens({ client, secret: submitTokenSecret });
  const users = new Users();
  /** @type {Shop} */
  const shop = {
    store,
    client,
    users,
    signedIn: signedInGuard(users),
    sessionOptions: sessionOptions(sessionSecret, isBehindTls),
    adminMaxAgeMs,
    tokens,
    orderDelayMs,
  };

  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  if (isBehindTls) app.set("trust proxy", trustProxy);
  app.use(securityHeaders(isBehindTls));
  if (isBehindTls) app.use(httpsOnly);
  app.use(express.static(fileURLToPath(new URL("public", import.meta.url)), { index: false, maxAge: "1h" }));
  app.all("/submit-tokens.js", tokens.script());
  app.use(noStore);
  app.use(sameOriginOnly);
  app.use(session({ store, ...shop.sessionOptions }));
  app.use(express.urlencoded({ extended: false, limit: "8kb" }));
  app.get("/", (_req, res) => res.redirect(303, "/account"));
  app.use(signInRoutes(shop), accountRoutes(shop), orderRoutes(shop), paymentRoutes(shop), adminRoutes(shop));
  app.use(notFound);
  app.use(errorHandler);
  return { app, store };
}
