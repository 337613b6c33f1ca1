import type { IncomingMessage, ServerResponse } from "node:http";
import { answerHtml, answerJson } from "../http/answer.js";
import { escapeHtml } from "../http/html.js";
import type { SubmitTokenRefusal } from "./submit-token-options.js";

/** What people read, by reason. */
const TEXTS: Readonly<Record<SubmitTokenRefusal["reason"], { readonly title: string; readonly text: string }>> = {
  duplicate: {
    title: "Already submitted",
    text: "This form was sent before, and that submission is the one that counts. Nothing was done a second time. To send another one, open the form again.",
  },
  expired: {
    title: "This form has expired",
    text: "The form was open for too long. Nothing was sent. Please go back, reload the page and submit it again.",
  },
  missing: {
    title: "Please submit the form again",
    text: "The form could not be checked. Nothing was sent. Please go back, reload the page and submit it again.",
  },
  invalid: {
    title: "Please submit the form again",
    text: "The form no longer belongs to your session, for instance because you signed in or out since. Nothing was sent. Please go back, reload the page and submit it again.",
  },
  unknown: {
    title: "Please submit the form again",
    text: "The form is no longer known. Please check whether an earlier submission went through. If not, go back, reload the page and submit it again.",
  },
  cross_site: {
    title: "Not from here",
    text: "The request came from another site, so nothing was done.",
  },
};

/** Answers a refused request: JSON for scripts, a short page for browsers. */
export function answerRefusal(refusal: SubmitTokenRefusal, req: IncomingMessage, res: ServerResponse): void {
  if (refusal.location !== undefined) res.setHeader("Link", `<${refusal.location}>; rel="describedby"`);
  if (prefersHtml(req)) answerHtml(res, refusal.status, refusalPage(refusal));
  else answerJson(res, refusal.status, { error: refusal.error });
}

function refusalPage(refusal: SubmitTokenRefusal): string {
  const { title, text } = TEXTS[refusal.reason];
  const link =
    refusal.location === undefined ? "" : `<p><a href="${escapeHtml(refusal.location)}">See the result</a></p>\n`;
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title></head>
<body>
<main>
<h1>${title}</h1>
<p>${text}</p>
${link}</main>
</body>
</html>
`;
}

/** Express' content negotiation; a plain `http` request is a script's. */
function prefersHtml(req: IncomingMessage): boolean {
  const { accepts } = req as { accepts?: (types: string[]) => unknown };
  return typeof accepts === "function" && accepts.call(req, ["json", "html"]) === "html";
}
