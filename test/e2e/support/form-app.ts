import express, { type Request, type Response } from "express";
import multer from "multer";
import type { ProtectOptions, ScriptOptions } from "../../../src/index.js";
import { Gate } from "../../support/gate.js";
import { tokenApp } from "../../support/token-app.js";

const POLICY = "default-src 'none'; script-src 'self'; connect-src 'self'; form-action 'self'";

/** What a request that passed `protect` brought. */
export interface Submission {
  readonly body: Readonly<Record<string, unknown>>;
  readonly header: string | undefined;
}

export interface FormApp {
  /** What is in the body of GET /page. */
  body: string;
  readonly base: string;
  /** Those that passed, in order. */
  readonly passed: readonly Submission[];
  /** All that came, as "METHOD status". */
  readonly answers: readonly string[];
  /** What came to /plain, of any method: "METHOD token". */
  readonly plain: readonly string[];
  /** How many tokens were fetched. */
  fetched(): number;
  /** What POST /orders does after its token was spent, until the test sets something else: goes to /done. */
  handler: (req: Request, res: Response) => unknown;
  /** Lets the handler wait at a gate. */
  hold(): Gate;
  /** Answers the endpoint with this status. */
  breakEndpoint(status: number | undefined): void;
}

export interface FormAppOptions {
  readonly body?: string;
  /** Attributes of the page's `<html>` and of the script's tag. */
  readonly html?: string;
  readonly script?: string;
  readonly serve?: ScriptOptions;
  readonly protect?: ProtectOptions;
  readonly cacheControl?: string;
  /** Lets the page reach all origins, and others' pages this application. */
  readonly isOpen?: boolean;
}

/** A form whose action is "order" and that has no token yet. */
export const FORM = `<form method="post" action="/orders" data-submit-token="order">
<input name="what" value="tea"><button name="how" value="fast">Send</button></form>`;

/** One page under a strict Content-Security-Policy, with the library's script, and POST /orders behind `protect`. */
export async function formApp(options: FormAppOptions = {}): Promise<FormApp> {
  const { body = FORM, html = 'lang="en"', script = "", cacheControl = "no-cache", isOpen = false } = options;
  const passed: Submission[] = [];
  const answers: string[] = [];
  const plain: string[] = [];
  let [fetched, endpointStatus]: [number, number | undefined] = [0, undefined];
  const app: Pick<FormApp, "body" | "handler"> = { body, handler: (_req, res) => res.redirect(303, "/done") };
  const { base } = await tokenApp({
    before: (shop, tokens) => {
      shop.use((req, res, next) => {
        if (isOpen)
          res.set({ "Access-Control-Allow-Origin": req.get("origin") ?? "", "Access-Control-Allow-Headers": "*" });
        else res.set("Content-Security-Policy", POLICY);
        if (req.path === "/plain") plain.push(`${req.method} ${req.get("x-submit-token") ?? "without token"}`);
        next();
      });
      shop.get("/submit-tokens.js", tokens.script(options.serve));
      shop.get("/page", (_req, res) => {
        res.set("Cache-Control", cacheControl);
        res.send(`<!doctype html><html ${html}><head><meta charset="utf-8"><title>Page</title>
<script src="/submit-tokens.js" defer ${script}></script></head><body>${app.body}</body></html>`);
      });
      shop.get("/done", (_req, res) => res.send("<!doctype html><title>Done</title><p>Done"));
      shop.all("/plain", (_req, res) => res.json({}));
      shop.get(
        "/submit-token",
        (_req, res, next) => {
          fetched += 1;
          if (endpointStatus === undefined) next();
          else res.status(endpointStatus).send("<p>broken");
        },
        tokens.endpoint({ action: ["order"] }),
      );
      shop.post(
        "/orders",
        (req, res, next) => {
          res.on("close", () => answers.push(`${req.method} ${res.writableFinished ? res.statusCode : "gone"}`));
          next();
        },
        multer().any(),
        tokens.protect({ action: "order", ...options.protect }),
        express.text({ type: "text/plain" }),
        (req, res, next) => {
          passed.push({ body: req.body ?? {}, header: req.get("x-submit-token") });
          Promise.resolve(app.handler(req, res)).catch(next);
        },
      );
    },
  });
  return Object.assign(app, {
    base,
    passed,
    answers,
    plain,
    fetched: () => fetched,
    breakEndpoint: (status: number | undefined) => {
      endpointStatus = status;
    },
    hold: () => {
      const gate = new Gate();
      const after = app.handler;
      app.handler = async (req, res) => {
        await gate.pass();
        app.handler = after;
        await after(req, res);
      };
      return gate;
    },
  });
}
