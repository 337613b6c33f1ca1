// @ts-check
import { Router } from "express";
import { postOnly } from "./errors.js";
import { field } from "./forms.js";
import { accountPage, sendPage, signInPage } from "./pages.js";
import { hashPassword, MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from "./passwords.js";
import { endSession, redirectWithNotice, takeNotice } from "./session.js";

/**
 * @param {import("./app.js").Shop} shop
 * @returns {Router}
 */
export function accountRoutes({ store, users, signedIn, sessionOptions }) {
  const router = Router();

  router.get(
    "/account",
    signedIn((req, res, { user, login }) => {
      sendPage(res, 200, accountPage({ user, login, notice: takeNotice(req) }));
    }),
  );

  router
    .route("/account/password")
    .post(
      signedIn(async (req, res, { user, login }) => {
        const refuse = (/** @type {string} */ notice) => sendPage(res, 422, accountPage({ user, login, notice }));
        const wanted = field(req, "new");
        if (wanted.length < MIN_PASSWORD_LENGTH || wanted.length > MAX_PASSWORD_LENGTH)
          return refuse("password_length");
        if (wanted !== field(req, "repeat")) return refuse("password_repeat");
        const checked = await users.checkPassword(user, field(req, "old"));
        if (checked === undefined) return refuse("old_password_wrong");
        const replacement = await hashPassword(wanted);

        // Hashing took a while: a login that was ended meanwhile changes nothing any more.
        if (!(await store.isCurrent(req))) return sendPage(res, 409, signInPage({ notice: "superseded" }));
        if (!users.replacePassword(user, checked, replacement)) return refuse("password_race");

        // After the change, never before: a sign-in with the old password that slips in between is among those ended here.
        res.locals["retryPath"] = "/log-out-everywhere";
        res.locals["done"] = "Your password is changed.";
        try {
          await store.logoutOthers(req, { reason: "password change" });
        } catch (error) {
          if (!isSuperseded(error)) throw error;
          // Somebody logged this device out in this very moment. The old password may have been used since.
          await store.logoutEverywhere(user.id, { reason: "password change" });
          return sendPage(res, 409, signInPage({ notice: "password_set" }));
        }
        await redirectWithNotice(req, res, "/account", "password");
      }),
    )
    .all(postOnly);

  router
    .route("/log-out")
    .post(async (req, res) => {
      await endSession(req, res, sessionOptions);
      res.redirect(303, "/sign-in?notice=signed_out");
    })
    .all(postOnly);

  router
    .route("/log-out-others")
    .post(
      signedIn(async (req, res) => {
        res.locals["retryPath"] = req.path;
        await store.logoutOthers(req, { reason: "button" });
        await redirectWithNotice(req, res, "/account", "others");
      }),
    )
    .all(postOnly);

  router
    .route("/log-out-everywhere")
    .post(
      signedIn(async (req, res, { user }) => {
        res.locals["retryPath"] = req.path;
        await store.logoutEverywhere(user.id, { reason: "button" });
        await endSession(req, res, sessionOptions);
        res.redirect(303, "/sign-in?notice=everywhere");
      }),
    )
    .all(postOnly);

  return router;
}

/** @param {unknown} error */
function isSuperseded(error) {
  return error instanceof Error && "code" in error && error.code === "ERR_LOGIN_SUPERSEDED";
}
