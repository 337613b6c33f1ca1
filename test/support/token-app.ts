import express, { type Express, type RequestHandler } from "express";
import {
  type IssueOptions,
  type ProtectOptions,
  type SubmitTokens,
  type SubmitTokensOptions,
  submitTokens,
} from "../../src/index.js";
import { type TestApp, type TestAppOptions, testApp } from "./app.js";
import type { Browser } from "./browser.js";
import { freshClient } from "./clients.js";

export const TOKEN_SECRET = "a secret of these tests, long enough to be one: 0123456789";
export const DUPLICATE = '{"error":"duplicate_submission"}';

export interface TokenAppOptions extends TestAppOptions {
  readonly tokens?: Partial<SubmitTokensOptions>;
  readonly issue?: IssueOptions;
  readonly protect?: ProtectOptions;
  /** What POST /submit does once it has passed; by default it answers `{"ok":true}`. */
  readonly handler?: RequestHandler;
  /** Mounted before the token routes. */
  readonly before?: (app: Express, tokens: SubmitTokens) => void;
}

export interface TokenApp extends TestApp {
  readonly tokens: SubmitTokens;
  /** How often the handler of POST /submit ran. */
  runs(): number;
}

/** `testApp` with GET /token (the token as text) and POST /submit. */
export async function tokenApp(options: TokenAppOptions = {}): Promise<TokenApp> {
  const client = options.store?.client ?? (await freshClient());
  const tokens = submitTokens({ client, secret: TOKEN_SECRET, ...options.tokens });
  let runs = 0;
  const app = await testApp({
    ...options,
    store: { ...options.store, client },
    routes: (shop, store) => {
      shop.use(express.urlencoded({ extended: true, limit: "2mb" }), express.json({ limit: "2mb" }));
      options.before?.(shop, tokens);
      shop.get("/token", async (req, res) => {
        res.send(await tokens.issue(req, options.issue));
      });
      shop.post(
        "/submit",
        tokens.protect(options.protect),
        (_req, _res, next) => {
          runs += 1;
          next();
        },
        options.handler ?? ((_req, res) => void res.json({ ok: true })),
      );
      options.routes?.(shop, store);
    },
  });
  return { ...app, client: client as TestApp["client"], tokens, runs: () => runs };
}

/** A new token for this browser. */
export async function tokenFor(browser: Browser): Promise<string> {
  const page = await browser.get("/token");
  if (page.status !== 200) throw new Error(`/token answered ${page.status}: ${page.text}`);
  return page.text;
}

/** Submits a token as a form does. */
export function submit(
  browser: Browser,
  token: string,
  headers: Record<string, string> = {},
): ReturnType<Browser["post"]> {
  return browser.post("/submit", { _submit_token: token }, headers);
}
