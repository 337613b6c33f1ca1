import { createRequire } from "node:module";
import express5, { type Express, type Request, type Response } from "express";
import session, { type SessionOptions, type Store } from "express-session";
import { Browser } from "./browser.js";
import { serve } from "./serve.js";

const express4 = createRequire(import.meta.url)("express4") as typeof express5;

/** The Express versions whose applications mount the store. */
export const EXPRESS = { 4: express4, 5: express5 } as const;

/** One request of a scenario: method and path. */
export type Step = readonly [method: string, path: string];

/** What one request showed from outside, without the random session IDs: those are numbered as they appear. */
export interface Seen {
  readonly step: string;
  readonly status: number;
  readonly text: string;
  readonly cookieSent: boolean;
  readonly cookieHasExpiry: boolean;
  readonly cookieNumber: number;
  /** Whether the session of the browser's cookie is in the store afterwards. */
  readonly stored: boolean;
  /** Sessions in the store afterwards. */
  readonly count: number;
}

/**
 * An application whose routes do all that a handler can do to a session; what they answer is what the next handler would see.
 * Mounted once on the store under test and once on express-session's own MemoryStore, both must show the same.
 */
export async function contractApp(
  version: keyof typeof EXPRESS,
  store: Store,
  options: Partial<SessionOptions>,
): Promise<Browser> {
  const app: Express = EXPRESS[version]();
  app.use(session({ store, secret: "test secret", ...options }));
  addRoutes(app);
  app.use((error: Error, _req: Request, res: Response, next: (error: Error) => void) => {
    if (res.headersSent) next(error);
    else res.status(500).end(error.message);
  });
  return new Browser(await serve(app));
}

/** Walks through a scenario in one browser. */
export async function play(browser: Browser, store: Store, steps: readonly Step[]): Promise<Seen[]> {
  const numbers = new Map<string, number>();
  const seen: Seen[] = [];
  for (const [method, path] of steps) {
    const page = await browser.send(method, path);
    const cookie = browser.cookies.get("connect.sid") ?? "";
    const [stored, counted] = await Promise.all([isStored(store, cookie), count(store)]);
    if (!numbers.has(cookie)) numbers.set(cookie, numbers.size);
    seen.push({
      step: `${method} ${path}`,
      status: page.status,
      text: page.text,
      cookieSent: page.setCookies.length > 0,
      cookieHasExpiry: page.setCookies.some((line) => line.includes("Expires=")),
      cookieNumber: numbers.get(cookie) ?? -1,
      stored,
      count: counted,
    });
  }
  return seen;
}

function addRoutes(app: Express): void {
  app.all("/read", answer);
  app.all("/set/:name/:value", (req, res) => {
    req.session[req.params.name] = req.params.value;
    answer(req, res);
  });
  app.all("/undo", (req, res) => {
    req.session["undone"] = 1;
    delete req.session["undone"];
    answer(req, res);
  });
  app.all("/save/:value", (req, res, next) => {
    req.session["saved"] = req.params.value;
    req.session.save((error) => (error ? next(error) : answer(req, res)));
  });
  app.all("/save-then-change", (req, res, next) => {
    req.session["first"] = 1;
    req.session.save((error) => {
      if (error) return next(error);
      req.session["second"] = 2;
      answer(req, res);
    });
  });
  app.all("/regenerate/:value", (req, res, next) => {
    req.session.regenerate((error) => {
      if (error) return next(error);
      if (req.params.value !== "empty") req.session["regenerated"] = req.params.value;
      answer(req, res);
    });
  });
  app.all("/reload", (req, res, next) => {
    req.session["unsaved"] = "lost by reload";
    req.session.reload((error) => (error ? next(error) : answer(req, res)));
  });
  app.all("/destroy", (req, res, next) => {
    req.session.destroy((error) => (error ? next(error) : res.end("destroyed")));
  });
  app.all("/null", (req, res) => {
    Object.assign(req, { session: null });
    res.end("null");
  });
  app.all("/touch", (req, res) => {
    req.session.touch();
    answer(req, res);
  });
  app.all("/max-age/:ms", (req, res) => {
    req.session.cookie.maxAge = Number(req.params.ms);
    answer(req, res);
  });
  app.all("/stream/:value", (req, res) => {
    req.session["before"] = req.params.value;
    res.write("begun ");
    setImmediate(() => {
      req.session["after"] = req.params.value;
      res.write("middle ");
      setImmediate(() => res.end("end"));
    });
  });
  app.all("/fail", (_req, _res, next) => next(new Error("handler failed")));
}

function answer(req: Request, res: Response): void {
  const { cookie, ...data } = req.session;
  const age = cookie.originalMaxAge;
  // express-session loses a millisecond now and then on its own.
  const rounded = typeof age === "number" ? Math.round(age / 1_000) : age;
  const names = Object.keys(data).sort();
  res.setHeader("Content-Type", "text/plain");
  res.end(JSON.stringify([names.map((name) => [name, data[name]]), rounded]));
}

async function isStored(store: Store, cookie: string): Promise<boolean> {
  const value = decodeURIComponent(cookie);
  const sid = value.slice("s:".length, value.lastIndexOf("."));
  return await new Promise((resolve, reject) => {
    store.get(sid, (error, data) => (error ? reject(error) : resolve(data !== null && data !== undefined)));
  });
}

async function count(store: Store): Promise<number> {
  return await new Promise((resolve, reject) => {
    store.all?.((error, sessions) => (error ? reject(error) : resolve(Object.keys(sessions ?? {}).length)));
  });
}
