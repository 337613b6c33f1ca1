// @ts-check
import { PageError } from "./errors.js";

/** @typedef {import("express").Request} Request */
/** @typedef {import("express").Response} Response */
/** @typedef {import("express").NextFunction} NextFunction */

/**
 * @param {boolean} isBehindTls
 * @returns {import("express").RequestHandler}
 */
export function securityHeaders(isBehindTls) {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "connect-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
  return (_req, res, next) => {
    res.set({
      "Content-Security-Policy": policy,
      "X-Content-Type-Options": "nosniff",
      // Not "no-referrer": with it browsers send `Origin: null` along with the shop's own forms.
      "Referrer-Policy": "same-origin",
      ...(isBehindTls ? { "Strict-Transport-Security": "max-age=31536000" } : {}),
    });
    next();
  };
}

/**
 * No cache keeps what the shop answers: after a logout the back button must not bring it back.
 *
 * @param {Request} _req
 * @param {Response} res
 * @param {NextFunction} next
 */
export function noStore(_req, res, next) {
  res.set("Cache-Control", "private, no-store");
  next();
}

/**
 * Behind TLS the session cookie is sent through https only; through plain http nobody could stay signed in.
 *
 * @param {Request} req
 * @param {Response} _res
 * @param {NextFunction} next
 */
export function httpsOnly(req, _res, next) {
  if (!req.secure) throw new PageError(400, "Use https", "This shop can be reached through https only.");
  next();
}

/**
 * Refuses requests that change something if the browser says that another site caused them. Clients that send neither header
 * are no browsers, and nobody can trick them into a request.
 *
 * @param {Request} req
 * @param {Response} _res
 * @param {NextFunction} next
 */
export function sameOriginOnly(req, _res, next) {
  if (req.method !== "GET" && req.method !== "HEAD" && !isFromOwnPages(req)) {
    throw new PageError(403, "Not from here", "The request came from another site, so it was refused.");
  }
  next();
}

/** @param {Request} req */
function isFromOwnPages(req) {
  const site = req.get("Sec-Fetch-Site");
  if (site !== undefined) return site === "same-origin" || site === "none";
  const origin = req.get("Origin");
  return origin === undefined || origin === `${req.protocol}://${req.host}`;
}
