import { checkInteger, checkOptions } from "../check.js";
import { answerJson } from "../http/answer.js";
import type { RequestHandler } from "../http/handler.js";
import { MAX_LIFETIME_MS } from "./lifetime.js";
import { loginOf } from "./login.js";

/** Options of `requireLogin`. */
export interface RequireLoginOptions {
  /**
   * For sensitive pages: how long ago the login may have been made, in milliseconds by the clocks of Redis (login) and of this
   * process (now). A login of unknown time is too old.
   * @defaultValue none: any age
   */
  readonly maxAgeMs?: number | undefined;
}

/**
 * Lets a request pass only if it is logged in. Otherwise it answers 401 with `Cache-Control: private, no-store` and
 * `{"error":"login_required"}`, or `{"error":"login_too_old"}` when only `maxAgeMs` is not met. Mount it behind `session()`.
 *
 * @example
 * ```ts
 * app.get("/orders", requireLogin(), listOrders);
 * app.post("/delete-account", requireLogin({ maxAgeMs: 10 * 60_000 }), deleteAccount);
 * ```
 */
export function requireLogin(options: RequireLoginOptions = {}): RequestHandler {
  checkOptions("requireLogin", options, { maxAgeMs: true });
  const maxAgeMs =
    options.maxAgeMs === undefined
      ? undefined
      : checkInteger("requireLogin: maxAgeMs", options.maxAgeMs, {
          min: 1,
          max: MAX_LIFETIME_MS,
          unit: "milliseconds",
        });
  return (req, res, next) => {
    const login = loginOf(req);
    if (login === undefined) answerJson(res, 401, { error: "login_required" });
    else if (maxAgeMs !== undefined && !(login.at !== undefined && Date.now() - login.at <= maxAgeMs)) {
      answerJson(res, 401, { error: "login_too_old" });
    } else next();
  };
}
