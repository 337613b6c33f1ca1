// @ts-check
import { Router } from "express";
import { loginOf, signedOutReason } from "logout-everywhere";
import { field } from "./forms.js";
import { sendPage, signInPage } from "./pages.js";

/** Where a sign-in may lead. */
const DESTINATIONS = ["/account", "/admin"];

/** What the address may ask the page to say; the other notices are the shop's own to give. */
const ADDRESS_NOTICES = ["signed_out", "everywhere"];

/**
 * @param {import("./app.js").Shop} shop
 * @returns {Router}
 */
export function signInRoutes({ store, users }) {
  const router = Router();

  router.get("/sign-in", (req, res) => {
    if (users.byId(loginOf(req)?.userId) !== undefined) return res.redirect(303, "/account");
    const asked = ADDRESS_NOTICES.find((notice) => notice === req.query["notice"]);
    sendPage(res, 200, signInPage({ notice: asked ?? signedOutReason(req) }));
  });

  router.post("/sign-in", async (req, res) => {
    const name = field(req, "name");
    const next = DESTINATIONS.find((path) => path === field(req, "next"));
    const user = users.named(name);
    // Before the password is checked: a password change in between makes `login` refuse.
    const attempt = await store.beginLogin(user.id);
    if ((await users.checkPassword(user, field(req, "password"))) === undefined) {
      return sendPage(res, 401, signInPage({ notice: "wrong", name, next }));
    }
    await store.login(req, attempt);
    res.redirect(303, next ?? "/account");
  });

  return router;
}
