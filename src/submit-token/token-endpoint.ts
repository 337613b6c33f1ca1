import type { IncomingMessage, ServerResponse } from "node:http";
import { checkOptions, checkText, kindOf, misuse } from "../check.js";
import { answerJson } from "../http/answer.js";
import { isCrossSite } from "../http/cross-site.js";
import type { NextFunction, RequestHandler } from "../http/handler.js";

/** Options of `tokens.endpoint`. */
export interface TokenEndpointOptions {
  /**
   * The action, or the actions, tokens may be asked for. With a list, `?action=` in the address names one.
   * @defaultValue none: tokens for no action
   */
  readonly action?: string | readonly string[] | undefined;
}

export interface EndpointParts {
  readonly issue: (req: IncomingMessage, action: string | undefined) => Promise<string>;
  readonly fieldName: string;
  readonly headerName: string;
}

/** The handler behind `tokens.endpoint`. */
export function tokenEndpoint(parts: EndpointParts, options: TokenEndpointOptions): RequestHandler {
  checkOptions("endpoint", options, { action: true });
  const actions = checkActions(options.action);
  return (req, res, next) => {
    handle(parts, actions, req, res).catch((error: unknown) => process.nextTick(next as NextFunction, error));
  };
}

async function handle(
  { issue, fieldName, headerName }: EndpointParts,
  actions: string | readonly string[] | undefined,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  // Not on HEAD either: nobody would read the token.
  if (req.method !== "GET") {
    res.setHeader("Allow", "GET");
    return answerJson(res, 405, { error: "method_not_allowed" });
  }
  if (isCrossSite(req)) return answerJson(res, 403, { error: "cross_site" });
  const action = typeof actions === "object" ? askedAction(req, actions) : actions;
  if (typeof actions === "object" && action === undefined) return answerJson(res, 400, { error: "unknown_action" });
  answerJson(res, 200, { token: await issue(req, action), fieldName, headerName });
}

function askedAction(req: IncomingMessage, actions: readonly string[]): string | undefined {
  const query = new URLSearchParams((req.url ?? "").split("?")[1]);
  return actions.find((action) => action === query.get("action"));
}

function checkActions(actions: unknown): string | readonly string[] | undefined {
  const where = "endpoint: action";
  if (actions === undefined) return undefined;
  if (!Array.isArray(actions)) return checkText(where, actions);
  if (actions.length === 0) {
    throw misuse(
      `${where}: expected a name or a list of names, got ${kindOf(actions)} without any`,
      "ERR_INVALID_ARG_VALUE",
    );
  }
  return actions.map((action) => checkText(where, action));
}
