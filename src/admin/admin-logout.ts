import type { IncomingMessage, ServerResponse } from "node:http";
import { checkFunction, checkOptions, kindOf, misuse } from "../check.js";
import type { LogoutReceipt } from "../errors.js";
import { answerJson } from "../http/answer.js";
import { isCrossSite } from "../http/cross-site.js";
import type { NextFunction, RequestHandler } from "../http/handler.js";

/** Options of `adminLogout`. */
export interface AdminLogoutOptions {
  /** The store whose users are logged out. */
  readonly store: { logoutEverywhere(userId: string): Promise<LogoutReceipt> };
  /**
   * Decides whether this request may log out other users. Mandatory, awaited; only the very value `true` lets it pass. An
   * error goes to `next` and nobody is logged out. Its parameter is the application's request type.
   */
  readonly authorize: (req: never) => boolean | Promise<boolean>;
}

/**
 * An endpoint that logs out one user everywhere: `POST …/:userId`. Answers 200 `{"loggedOut":true}`, the same whether or not
 * the user exists; 405 for other methods, 403 for requests from another site and for those `authorize` does not let pass, 400 for
 * a user ID that cannot be one, 503 `{"error":"logout_unconfirmed"}` when it is not certain that the logout took effect.
 *
 * @example
 * ```ts
 * app.post("/admin/log-out/:userId", adminLogout({ store, authorize: (req: Request) => isAdmin(loginOf(req)) }));
 * ```
 */
export function adminLogout(options: AdminLogoutOptions): RequestHandler {
  checkOptions("adminLogout", options, { store: true, authorize: true });
  if (typeof options.store?.logoutEverywhere !== "function") {
    throw misuse(
      `adminLogout: store: expected a GenerationStore, got ${kindOf(options.store)}`,
      "ERR_INVALID_ARG_TYPE",
    );
  }
  checkFunction("adminLogout: authorize", options.authorize);
  return (req, res, next) => {
    handle(options, req, res).catch((error: unknown) => process.nextTick(next as NextFunction, error));
  };
}

async function handle(
  { store, authorize }: AdminLogoutOptions,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  if (req.method !== "POST") {
    res.setHeader("Allow", "POST");
    answerJson(res, 405, { error: "method_not_allowed" });
  } else if (isCrossSite(req)) {
    answerJson(res, 403, { error: "cross_site" });
  } else if ((await authorize(req as never)) !== true) {
    answerJson(res, 403, { error: "forbidden" });
  } else {
    await logOut(store, req, res);
  }
}

async function logOut(store: AdminLogoutOptions["store"], req: IncomingMessage, res: ServerResponse): Promise<void> {
  const userId = (req as { readonly params?: Readonly<Record<string, unknown>> }).params?.["userId"];
  try {
    await store.logoutEverywhere(userId as string);
    answerJson(res, 200, { loggedOut: true });
  } catch (error) {
    if (error instanceof TypeError) answerJson(res, 400, { error: "invalid_user_id" });
    else answerJson(res, 503, { error: "logout_unconfirmed" });
  }
}
