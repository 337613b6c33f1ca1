import express, { type Express, type Request, type Response } from "express";
import session, { type SessionOptions } from "express-session";
import { GenerationStore, type GenerationStoreOptions, loginOf } from "../../src/index.js";
import { Browser } from "./browser.js";
import { freshClient } from "./clients.js";
import { serve } from "./serve.js";

declare module "express-session" {
  interface SessionData {
    [field: string]: unknown;
  }
}

/** A small application on a store, with the routes most tests need; tests add their own to `app` before they browse. */
export interface TestApp {
  readonly app: Express;
  readonly store: GenerationStore;
  readonly client: Awaited<ReturnType<typeof freshClient>>;
  readonly base: string;
  /** Errors that reached the error handler. */
  readonly errors: unknown[];
  /** Events the store has emitted, as `name` or `name:reason`. */
  readonly events: string[];
  browser(): Browser;
  /** A browser that is signed in as this user. */
  signedIn(userId: string): Promise<Browser>;
}

export interface TestAppOptions {
  readonly store?: Partial<GenerationStoreOptions>;
  readonly session?: Partial<SessionOptions>;
  readonly routes?: (app: Express, store: GenerationStore) => void;
}

/**
 * POST /login/:userId, POST /logout (this device), POST /everywhere, POST /others, POST /rotate,
 * GET /me → { user, data }, POST /set/:name/:value. Errors are answered with their `status` and `code`.
 */
export async function testApp(options: TestAppOptions = {}): Promise<TestApp> {
  const client = await freshClient();
  const store = new GenerationStore({ client, ...options.store });
  const errors: unknown[] = [];
  const events = recordEvents(store);
  const app = express();
  app.use(session({ store, secret: "test secret", resave: false, saveUninitialized: false, ...options.session }));
  options.routes?.(app, store);
  addRoutes(app, store);
  app.use((error: { status?: number; code?: string }, _req: Request, res: Response, _next: unknown) => {
    errors.push(error);
    if (!res.headersSent) res.status(error.status ?? 500).json({ code: error.code });
  });
  const base = await serve(app);
  const browser = (): Browser => new Browser(base);
  return {
    app,
    store,
    client,
    base,
    errors,
    events,
    browser,
    signedIn: async (userId) => {
      const device = browser();
      const page = await device.post(`/login/${encodeURIComponent(userId)}`);
      if (page.status !== 200) throw new Error(`login answered ${page.status}: ${page.text}`);
      return device;
    },
  };
}

function addRoutes(app: Express, store: GenerationStore): void {
  app.post("/login/:userId", async (req, res) => {
    await store.login(req, await store.beginLogin(req.params.userId));
    res.json({ user: loginOf(req)?.userId });
  });
  app.post("/logout", (req, res, next) => {
    req.session.destroy((error) => (error ? next(error) : res.json({ user: null })));
  });
  app.post("/everywhere", async (req, res) => {
    res.json(await store.logoutEverywhere(loginOf(req)?.userId ?? ""));
  });
  app.post("/others", async (req, res) => {
    res.json(await store.logoutOthers(req));
  });
  app.post("/rotate", async (req, res) => {
    await store.rotate(req);
    res.json({ user: loginOf(req)?.userId });
  });
  app.post("/set/:name/:value", (req, res) => {
    req.session[req.params.name] = req.params.value;
    res.json({ ok: true });
  });
  app.get("/me", (req, res) => {
    const { cookie: _cookie, ...data } = req.session;
    res.json({ user: loginOf(req)?.userId ?? null, data });
  });
}

function recordEvents(store: GenerationStore): string[] {
  const events: string[] = [];
  store.on("fenced", (event: { reason: string }) => events.push(`fenced:${event.reason}`));
  store.on("corrupt", (event: { part: string }) => events.push(`corrupt:${event.part}`));
  store.on("unprotected", () => events.push("unprotected"));
  store.on("logout", (event: { scope: string }) => events.push(`logout:${event.scope}`));
  return events;
}

/** Who a browser is for the application; null when signed out. */
export async function userOf(browser: Browser): Promise<string | null> {
  const page = await browser.get("/me");
  if (page.status !== 200) throw new Error(`/me answered ${page.status}: ${page.text}`);
  return page.json<{ user: string | null }>().user;
}

/** The session ID in a browser's cookie. */
export function sidOf(browser: Browser, name = "connect.sid"): string {
  const value = decodeURIComponent(browser.cookies.get(name) ?? "");
  return value.slice("s:".length, value.lastIndexOf("."));
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
