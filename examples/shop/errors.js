// @ts-check
import { messagePage, sendPage, signInPage } from "./pages.js";

/** @typedef {import("express").Request} Request */
/** @typedef {import("express").Response} Response */
/** @typedef {import("express").NextFunction} NextFunction */

/** An outcome that has a page of its own to say so. */
export class PageError extends Error {
  /**
   * @param {number} status
   * @param {string} title
   * @param {string} text
   */
  constructor(status, title, text) {
    super(title);
    this.status = status;
    this.text = text;
  }
}

/** What scripts are told, by status. @type {Readonly<Record<number, string>>} */
const JSON_ERRORS = {
  400: "malformed",
  401: "login_required",
  404: "not_found",
  405: "method_not_allowed",
  409: "conflict",
  413: "too_large",
  415: "unsupported_media_type",
  503: "try_again",
};

/**
 * True for the addresses of scripts, and where pages and scripts share an address, unless pages are preferred.
 *
 * @param {Request} req
 */
export function wantsJson(req) {
  if (/^\/api\//i.test(req.path)) return true;
  return /^\/payments(?:\/|$)/i.test(req.path) && req.accepts(["json", "html"]) !== "html";
}

export function notFound() {
  throw new PageError(404, "Not found", "There is no such page in this shop.");
}

/**
 * @param {Request} _req
 * @param {Response} res
 */
export function postOnly(_req, res) {
  res.set("Allow", "POST");
  throw new PageError(405, "Use the button", "This address only takes what the shop's own forms send.");
}

/**
 * The last word on every error. What people see is written here: an error's own text stays in the log.
 *
 * @param {unknown} error
 * @param {Request} req
 * @param {Response} res
 * @param {NextFunction} _next Express tells error handlers by their four parameters.
 */
export function errorHandler(error, req, res, _next) {
  const status = statusOf(error);
  if (status >= 500) console.error(`${req.method} ${req.path}: ${describe(error)}`);
  if (res.headersSent) {
    // A session that could not be saved at the very end has been answered already.
    if (!res.writableEnded) res.destroy();
    return;
  }
  if (status === 503) res.set("Retry-After", "5");
  if (wantsJson(req))
    res.status(status).json({ error: JSON_ERRORS[status] ?? (status >= 500 ? "server_error" : "refused") });
  else sendPage(res, status, errorPage(error, status, res));
}

/**
 * @param {any} error
 * @param {number} status
 * @param {Response} res
 */
function errorPage(error, status, res) {
  if (error instanceof PageError) return messagePage({ title: error.message, text: error.text });
  if (error.code === "ERR_LOGIN_SUPERSEDED") return signInPage({ notice: "superseded" });
  if (error.code === "ERR_NOT_LOGGED_IN") return signInPage({ notice: "not_found" });
  if (error.code === "ERR_LOGOUT_UNCONFIRMED") {
    const { retryPath, done } = res.locals;
    return messagePage({
      title: "Please try again",
      done,
      text: "It is not certain that the logout took effect: the shop did not hear back from its session storage. Doing it again is safe.",
      retryPath,
    });
  }
  if (status === 503) {
    return messagePage({
      title: "Please try again",
      text: "The shop cannot reach its session storage at the moment. Wait a few seconds, then do it again.",
    });
  }
  if (status >= 500) {
    return messagePage({ title: "Something went wrong", text: "The fault is ours. It has been written down." });
  }
  return messagePage({ title: "Not understood", text: "The shop could not read what your browser sent." });
}

/** @param {any} error */
function statusOf(error) {
  const status = error?.status;
  return Number.isInteger(status) && status >= 400 && status <= 599 ? status : 500;
}

/** @param {any} error */
function describe(error) {
  const { code, message, stack } = error ?? {};
  return code === undefined ? (stack ?? String(error)) : `${code} ${message}`;
}
