// @ts-check
import { loginOf, signedOutReason } from "logout-everywhere";
import { sendPage, signInPage } from "./pages.js";

/** @typedef {import("express").Request} Request */
/** @typedef {import("express").Response} Response */
/** @typedef {import("./users.js").User} User */
/** @typedef {{ user: User, login: import("logout-everywhere").Login }} Visit Who is here, by which login. */

/**
 * Makes the guard of pages for signed-in people. Others get the sign-in page, which says why, in place of the page.
 *
 * @param {import("./users.js").Users} users
 */
export function signedInGuard(users) {
  /**
   * @param {(req: Request, res: Response, visit: Visit, next: import("express").NextFunction) => unknown} handler
   * @param {{ maxAgeMs?: number }} [options] For sensitive pages: how long ago the password may have been entered.
   * @returns {import("express").RequestHandler}
   */
  return (handler, { maxAgeMs = Number.POSITIVE_INFINITY } = {}) => {
    return async (req, res, next) => {
      const login = loginOf(req);
      const user = users.byId(login?.userId);
      if (login === undefined || user === undefined) {
        sendPage(res, 401, signInPage({ notice: signedOutReason(req) }));
      } else if (!isFresh(login, maxAgeMs)) {
        sendPage(res, 401, signInPage({ notice: "too_old", name: user.name, next: "/admin" }));
      } else {
        await handler(req, res, { user, login }, next);
      }
    };
  };
}

/**
 * @param {import("logout-everywhere").Login} login
 * @param {number} maxAgeMs
 */
function isFresh({ at }, maxAgeMs) {
  return maxAgeMs === Number.POSITIVE_INFINITY || (at !== undefined && Date.now() - at <= maxAgeMs);
}
