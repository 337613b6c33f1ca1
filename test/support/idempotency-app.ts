import express, { type RequestHandler } from "express";
import { type IdempotencyOptions, idempotency } from "../../src/index.js";
import { type TestApp, type TestAppOptions, testApp } from "./app.js";
import type { Page } from "./browser.js";
import { freshClient } from "./clients.js";
import { type RawPage, rawRequest } from "./raw-request.js";

export interface IdempotencyAppOptions extends TestAppOptions {
  readonly idempotency?: Partial<IdempotencyOptions>;
  /** What a guarded request does; by default it answers 201 with `{"id":<run>,"amount":…}`. */
  readonly handler?: RequestHandler;
  /** Mounted before the guarded routes. */
  readonly before?: readonly RequestHandler[];
}

export interface IdempotencyApp extends TestApp {
  /** How often the handler ran. */
  runs(): number;
}

/** `testApp` with a guarded `/pay` and `/refund`, for all methods; everybody is in one scope unless the options say otherwise. */
export async function idempotencyApp(options: IdempotencyAppOptions = {}): Promise<IdempotencyApp> {
  const client = options.idempotency?.client ?? options.store?.client ?? (await freshClient());
  const guard = idempotency({ client, scope: () => "tests", ...options.idempotency });
  let runs = 0;
  const count: RequestHandler = (_req, _res, next) => {
    runs += 1;
    next();
  };
  const handler: RequestHandler =
    options.handler ?? ((req, res) => void res.status(201).json({ id: runs, amount: req.body?.amount }));
  const shop = await testApp({
    ...options,
    store: { ...options.store, client },
    routes: (app, store) => {
      app.use(express.json({ limit: "2mb" }), express.urlencoded({ extended: true }), ...(options.before ?? []));
      app.all(["/pay", "/refund"], guard, count, handler);
      options.routes?.(app, store);
    },
  });
  return { ...shop, client: client as TestApp["client"], runs: () => runs };
}

/** Posts JSON with a key. */
export async function pay(
  { base }: { readonly base: string },
  key: string | undefined,
  body: unknown = { amount: 5 },
  options: { readonly path?: string; readonly method?: string; readonly headers?: Record<string, string> } = {},
): Promise<Page> {
  // Not fetch: it hides answers of 407 and sends again after 421.
  const { path = "/pay", method = "POST", headers = {} } = options;
  const page = await rawRequest(`${base}${path}`, {
    method,
    headers: {
      "content-type": "application/json",
      ...(key === undefined ? {} : { "idempotency-key": key }),
      ...headers,
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return asPage(page);
}

function asPage({ status, rawHeaders, body }: RawPage): Page {
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  const text = body.toString();
  return { status, text, headers, setCookies: headers.getSetCookie(), json: () => JSON.parse(text) };
}
