// @ts-check
import { setTimeout as wait } from "node:timers/promises";
import express, { Router } from "express";
import { idempotency, requireLogin } from "logout-everywhere";
import { PageError, wantsJson } from "./errors.js";
import { sendPage } from "./pages.js";
import { paymentPage, paymentsPage } from "./payment-pages.js";
import { checkPayment, Payments } from "./payments.js";

/** @typedef {import("express").Request} Request */
/** @typedef {import("express").Response} Response */
/** @typedef {import("express").NextFunction} NextFunction */
/** @typedef {import("./payments.js").Payment} Payment */

/**
 * Payments: sent again with the same idempotency key, the answer is the first one and nothing more is paid.
 *
 * @param {import("./app.js").Shop} shop
 * @returns {Router}
 */
export function paymentRoutes({ store, client, signedIn, orderDelayMs }) {
  const router = Router();
  const payments = new Payments();
  const visitors = signedIn((_req, _res, _visit, next) => next());
  const callers = requireLogin();

  /** Sends strangers away, in the language they speak. @param {Request} req @param {Response} res @param {NextFunction} next */
  const people = (req, res, next) => (wantsJson(req) ? callers(req, res, next) : visitors(req, res, next));

  const noteTry = signedIn((req, res, { user }, next) => {
    const key = req.get("Idempotency-Key") ?? "";
    res.on("finish", () => {
      const isReplay = res.getHeader("Idempotency-Replayed") === "true";
      payments.noteTry(user.id, { key, status: res.statusCode, isReplay });
    });
    next();
  });

  router
    .route("/payments")
    .get(
      people,
      signedIn((req, res, { user }) => {
        const [mine, tries] = [payments.of(user.id), payments.triesOf(user.id)];
        if (wantsJson(req)) res.json({ payments: mine.map(asJson), tries });
        else sendPage(res, 200, paymentsPage({ user, payments: mine, tries }));
      }),
    )
    .post(
      people,
      noteTry,
      jsonOnly,
      express.json({ limit: "8kb" }),
      checked,
      idempotency({ client }),
      signedIn(async (req, res, { user }) => {
        // A login that was ended meanwhile pays nothing any more.
        if (!(await store.isCurrent(req))) throw new PageError(401, "Sign in", "You were logged out meanwhile.");

        await req.idempotency?.commit();
        // Here a real shop would talk to the bank, and give it the key as well.
        await wait(orderDelayMs);
        const payment = payments.pay(user.id, res.locals["order"]);
        res.status(201).location(`/payments/${payment.id}`).json(asJson(payment));
      }),
    )
    .all((_req, res) => {
      res.set("Allow", "GET, HEAD, POST");
      throw new PageError(405, "Not that way", "Payments can be looked at and made.");
    });

  router.get(
    "/payments/:id",
    people,
    signedIn((req, res, { user }) => {
      const payment = payments.find(user.id, String(req.params["id"]));
      if (payment === undefined) throw new PageError(404, "No such payment", "You have no payment with this number.");
      if (wantsJson(req)) res.json(asJson(payment));
      else sendPage(res, 200, paymentPage({ user, payment }));
    }),
  );

  return router;
}

/**
 * Other parsers' bodies have other types: a form's numbers are text.
 *
 * @param {Request} req
 * @param {Response} _res
 * @param {NextFunction} next
 */
function jsonOnly(req, _res, next) {
  const [type = ""] = (req.get("Content-Type") ?? "").split(";", 1);
  if (type.trim().toLowerCase() !== "application/json") {
    throw new PageError(415, "Not understood", "Payments are sent as JSON.");
  }
  next();
}

/**
 * Before the key is claimed: what was wrong can be corrected and sent with the same key.
 *
 * @param {Request} req
 * @param {Response} res
 * @param {NextFunction} next
 */
function checked(req, res, next) {
  const result = checkPayment(req.body);
  if ("error" in result) return void res.status(422).json(result);
  res.locals["order"] = result.order;
  next();
}

/** @param {Payment} payment */
function asJson({ at, ...payment }) {
  return { ...payment, createdAt: new Date(at).toISOString() };
}
