// @ts-check
import { Router } from "express";
import { adminLogout, loginOf, requireLogin } from "logout-everywhere";
import { PageError, postOnly } from "./errors.js";
import { adminPage, sendPage } from "./pages.js";
import { redirectWithNotice, takeNotice } from "./session.js";

/** @typedef {import("./guards.js").Visit} Visit */

/**
 * Pages and an endpoint for administrators, who must have entered their password not long ago.
 *
 * @param {import("./app.js").Shop} shop
 * @returns {Router}
 */
export function adminRoutes({ store, users, signedIn, adminMaxAgeMs }) {
  const router = Router();

  /** @param {(req: import("express").Request, res: import("express").Response, visit: Visit) => unknown} handler */
  const forAdmin = (handler) =>
    signedIn(
      (req, res, visit) => {
        if (!visit.user.isAdmin)
          throw new PageError(403, "Administrators only", "Your account may not open this page.");
        return handler(req, res, visit);
      },
      { maxAgeMs: adminMaxAgeMs },
    );

  router.get(
    "/admin",
    forAdmin((req, res, { user }) => {
      sendPage(res, 200, adminPage({ user, users: users.list(), loggedOut: users.byId(takeNotice(req)) }));
    }),
  );

  router
    .route("/admin/users/:userId/log-out")
    .post(
      forAdmin(async (req, res) => {
        const target = users.byId(String(req.params["userId"]));
        if (target === undefined) throw new PageError(404, "No such user", "There is no user with this ID.");
        res.locals["retryPath"] = req.path;
        await store.logoutEverywhere(target.id, { reason: "administrator" });
        await redirectWithNotice(req, res, "/admin", target.id);
      }),
    )
    .all(postOnly);

  // For scripts and other services' consoles: JSON, and any user ID, known to this shop or not.
  router.all(
    "/api/admin/users/:userId/log-out",
    requireLogin({ maxAgeMs: adminMaxAgeMs }),
    adminLogout({
      store,
      authorize: (/** @type {import("express").Request} */ req) => users.byId(loginOf(req)?.userId)?.isAdmin === true,
    }),
  );

  return router;
}
