// @ts-check
import { setTimeout as wait } from "node:timers/promises";
import { Router } from "express";
import { loginOf } from "logout-everywhere";
import { PageError } from "./errors.js";
import { field } from "./forms.js";
import { duplicatePage, orderFormPage, orderPage, ordersPage } from "./order-pages.js";
import { ITEMS, MAX_NOTE_LENGTH, MAX_QUANTITY, Orders } from "./orders.js";
import { sendPage, signInPage } from "./pages.js";

/** @typedef {import("express").Request} Request */
/** @typedef {import("express").Response} Response */
/** @typedef {import("./order-pages.js").OrderForm} OrderForm */

/** How long the second of two submissions waits for the first, to be able to say what became of it. */
const WAIT_FOR_FIRST_MS = 5_000;

/**
 * The order form: sent twice, it orders once.
 *
 * @param {import("./app.js").Shop} shop
 * @returns {Router}
 */
export function orderRoutes({ store, users, signedIn, tokens, orderDelayMs }) {
  const router = Router();
  const orders = new Orders();
  const people = signedIn((_req, _res, _visit, next) => next());

  /** Each form that is shown has a token of its own. @param {Request} req @param {Response} res @param {number} status @param {OrderForm} form */
  const showForm = async (req, res, status, form) => {
    const token = await tokens.issue(req, { action: "order" });
    sendPage(res, status, orderFormPage({ ...form, tokenField: tokens.field(token) }));
  };

  /** @param {import("logout-everywhere").SubmitTokenRefusal} refusal @param {Request} req @param {Response} res */
  const onRefused = async (refusal, req, res) => {
    const { reason, status, error, location } = refusal;
    // For scripts, as the library's own answer.
    if (location !== undefined) res.set("Link", `<${location}>; rel="describedby"`);
    if (req.accepts(["json", "html"]) !== "html") return res.json({ error });
    if (reason === "cross_site") throw new PageError(403, "Not from here", "The request came from another site.");
    const user = users.byId(loginOf(req)?.userId);
    if (reason === "duplicate") return sendPage(res, status, duplicatePage({ user, ...refusal }));
    // What was typed is kept only if the token shows that the shop's own form was sent.
    const typed = reason === "expired" || reason === "unknown" ? typedIn(req) : {};
    await showForm(req, res, status, { user, notice: `order_${reason}`, ...typed });
  };

  router.get(
    "/order",
    signedIn((req, res, { user }) => showForm(req, res, 200, { user })),
  );

  router
    .route("/orders")
    .get(signedIn((_req, res, { user }) => sendPage(res, 200, ordersPage({ user, orders: orders.of(user.id) }))))
    .post(
      people,
      tokens.protect({ action: "order", waitForResultMs: WAIT_FOR_FIRST_MS, onRefused }),
      signedIn(async (req, res, { user }) => {
        const typed = typedIn(req);
        const order = check(typed);
        if (typeof order === "string") {
          // Nothing was done, so whoever reloads this answer is to see it again.
          await req.submitToken?.release();
          return await showForm(req, res, 422, { user, notice: order, ...typed });
        }

        // Here a real shop would talk to the bank. A login that was ended meanwhile orders nothing any more.
        await wait(orderDelayMs);
        if (!(await store.isCurrent(req))) return sendPage(res, 409, signInPage({ notice: "superseded" }));

        const location = `/orders/${orders.place(user.id, order).id}`;
        await req.submitToken?.commit({ location });
        res.redirect(303, location);
      }),
    )
    .all((_req, res) => {
      res.set("Allow", "GET, HEAD, POST");
      throw new PageError(405, "Use the form", "This address only takes what the shop's order form sends.");
    });

  router.get(
    "/orders/:id",
    signedIn((req, res, { user }) => {
      const order = orders.find(user.id, String(req.params["id"]));
      if (order === undefined) throw new PageError(404, "No such order", "You have no order with this number.");
      sendPage(res, 200, orderPage({ user, order }));
    }),
  );

  // Fresh tokens for submit-tokens.js, for instance when a page comes back from the browser's history.
  router.all("/submit-token", people, tokens.endpoint({ action: ["order"] }));

  return router;
}

/** @param {Request} req */
function typedIn(req) {
  // Browsers send line ends as two characters and count them as one.
  const note = field(req, "note").replace(/\r\n?/g, "\n");
  return { item: field(req, "item"), quantity: field(req, "quantity"), note };
}

/**
 * The order, or the notice that says what is wrong with it.
 *
 * @param {ReturnType<typeof typedIn>} typed
 */
function check({ item: itemId, quantity, note }) {
  const item = ITEMS.find(({ id }) => id === itemId);
  if (item === undefined) return "order_item";
  if (!/^[1-9]\d?$/.test(quantity) || Number(quantity) > MAX_QUANTITY) return "order_quantity";
  if (note.length > MAX_NOTE_LENGTH) return "order_note";
  return { item, quantity: Number(quantity), note };
}
