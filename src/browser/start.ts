/*
 * The browser's side of submit tokens, for forms that hold the hidden field or carry `data-submit-token="<action>"`. A classic
 * script: scripts/browser-script.mjs compiles the files of this folder, which share one scope and import nothing, wraps them in a
 * function of `served` and stores the text in src/submit-token/browser-script.ts.
 *
 * Forms are asked through attributes and `control.form` only: an <input name="action"> hides `form.action`.
 */

window.addEventListener("submit", blockSecond, true);
window.addEventListener("submit", onSubmit);
window.addEventListener("pageshow", (event) => comeBack(event.persisted));
window.addEventListener("keydown", (event) => event.key === "Escape" && stay());
(window as { readonly navigation?: EventTarget }).navigation?.addEventListener("navigateerror", stay);
Object.assign(window, { submitTokens: { fetch: sendWithToken } });
if (attributes["wrapFetch"] !== undefined) wrapFetch(attributes["wrapFetch"]);
// A script that came late has missed the event.
if (document.readyState === "complete") comeBack(false);
