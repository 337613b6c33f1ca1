// @ts-check
import { fileURLToPath } from "node:url";
import express from "express";
import session from "express-session";
import { GenerationStore } from "logout-everywhere";
import { accountRoutes } from "./account.js";
import { adminRoutes } from "./admin.js";
import { errorHandler, notFound } from "./errors.js";
import { signedInGuard } from "./guards.js";
import { httpsOnly, noStore, sameOriginOnly, securityHeaders } from "./security.js";
import { ABSOLUTE_TTL_MS, sessionOptions } from "./session.js";
import { signInRoutes } from "./sign-in.js";
import { Users } from "./users.js";

/**
 * What the routes work with.
 *
 * @typedef {object} Shop
 * @property {GenerationStore} store
 * @property {Users} users
 * @property {ReturnType<typeof signedInGuard>} signedIn
 * @property {ReturnType<typeof sessionOptions>} sessionOptions
 * @property {number} adminMaxAgeMs
 */

/**
 * @typedef {object} AppOptions
 * @property {import("logout-everywhere").RedisClient} client
 * @property {string} sessionSecret
 * @property {number | string | undefined} [trustProxy] See settings.js.
 * @property {number} [adminMaxAgeMs]
 */

/**
 * The shop as an Express application, and the store its sessions are in.
 *
 * @param {AppOptions} options
 */
export function createApp({ client, sessionSecret, trustProxy, adminMaxAgeMs = 15 * 60_000 }) {
  const isBehindTls = trustProxy !== undefined;
  const store = new GenerationStore({ client, absoluteTtlMs: ABSOLUTE_TTL_MS });
  const users = new Users();
  /** @type {Shop} */
  const shop = {
    store,
    users,
    signedIn: signedInGuard(users),
    sessionOptions: sessionOptions(sessionSecret, isBehindTls),
    adminMaxAgeMs,
  };

  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  if (isBehindTls) app.set("trust proxy", trustProxy);
  app.use(securityHeaders(isBehindTls));
  if (isBehindTls) app.use(httpsOnly);
  app.use(express.static(fileURLToPath(new URL("public", import.meta.url)), { index: false, maxAge: "1h" }));
  app.use(noStore);
  app.use(sameOriginOnly);
  app.use(session({ store, ...shop.sessionOptions }));
  app.use(express.urlencoded({ extended: false, limit: "8kb" }));
  app.get("/", (_req, res) => res.redirect(303, "/account"));
  app.use(signInRoutes(shop), accountRoutes(shop), adminRoutes(shop));
  app.use(notFound);
  app.use(errorHandler);
  return { app, store };
}
