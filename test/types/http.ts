// Compiled, never run: middleware, helpers and errors as an application sees them, from the built package.
import type { IncomingMessage, ServerResponse } from "node:http";
import express, { type Request, type Response } from "express";
import express4 from "express4";
import {
  adminLogout,
  type ErrorCode,
  type GenerationStore,
  type Login,
  LoginError,
  type LogoutEverywhereError,
  type LogoutReceipt,
  LogoutUnconfirmedError,
  loginOf,
  type NextFunction,
  RedisError,
  type RequestHandler,
  requireLogin,
  SessionDataError,
  type SignedOutReason,
  type StoreEventMap,
  type signedOutReason,
} from "logout-everywhere";
import { type Equals, is } from "./equals.js";

declare const store: GenerationStore;
declare const req: Request;

// Middleware fits Express 4 and 5 and plain http.
const app = express();
app.use(requireLogin());
app.get("/", requireLogin({ maxAgeMs: 60_000 }), (_req: Request, res: Response) => void res.send(""));
app.post("/admin/:userId", adminLogout({ store, authorize: (request: Request) => request.ip === "127.0.0.1" }));
app.post("/admin/:userId", adminLogout({ store, authorize: async () => false }));
express4().use(requireLogin());
is<Equals<RequestHandler, (req: IncomingMessage, res: ServerResponse, next: NextFunction) => void>>();
// @ts-expect-error: authorize is mandatory
adminLogout({ store });
// @ts-expect-error: only a boolean decides
adminLogout({ store, authorize: () => "yes" });
// @ts-expect-error: no such option
requireLogin({ maxAge: 60 });

// Who is logged in.
is<Equals<ReturnType<typeof loginOf>, Login | undefined>>();
is<Equals<Login, { readonly userId: string; readonly generation: string; readonly at?: number }>>();
is<Equals<ReturnType<typeof signedOutReason>, SignedOutReason | undefined>>();
is<Equals<SignedOutReason, "logged_out" | "not_found">>();
loginOf(req);
loginOf(req.session);
loginOf(undefined);
// @ts-expect-error: a session ID is no session
loginOf("id");

// Errors share code and status.
declare const failure: LogoutEverywhereError;
is<Equals<typeof failure.code, ErrorCode>>();
is<Equals<typeof failure.status, number>>();
[
  new LoginError("ERR_LOGIN_SUPERSEDED", ""),
  new RedisError("ERR_REDIS_TIMEOUT", "unknown", ""),
  new SessionDataError("ERR_SESSION_TOO_LARGE", ""),
  new LogoutUnconfirmedError(""),
] satisfies LogoutEverywhereError[];
declare const unconfirmed: LogoutUnconfirmedError;
is<Equals<typeof unconfirmed.receipt, LogoutReceipt | undefined>>();
// @ts-expect-error: no such code
"ERR_NO_SUCH_CODE" satisfies ErrorCode;

is<Equals<keyof StoreEventMap, "fenced" | "corrupt" | "unprotected" | "logout" | "reapplied">>();
store.on("logout", (event: StoreEventMap["logout"]) => event.reason);
