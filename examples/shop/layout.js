// @ts-check
import { html } from "./html.js";
import { noticeFor } from "./notices.js";

/** @typedef {import("./html.js").Html} Html */
/** @typedef {import("./users.js").User} User */

/**
 * The frame of every page.
 *
 * @param {{ title: string, main: Html, user?: User | undefined, script?: string }} page `script` is the address of one.
 * @returns {Html}
 */
export function layout({ title, main, user, script }) {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Corner Shop</title>
<link rel="stylesheet" href="/shop.css">
<link rel="icon" href="/icon.svg" type="image/svg+xml">
${
  script &&
  html`<script src="${script}" defer></script>
`
}</head>
<body>
<header class="bar">
<a class="brand" href="/"><img src="/icon.svg" alt="" width="28" height="28">Corner Shop</a>
${user && navigation(user)}
</header>
<main>
${main}
</main>
</body>
</html>
`;
}

/** @param {User} user */
function navigation(user) {
  return html`<nav aria-label="Your pages">
<a href="/account">Account</a>
<a href="/order">Order</a>
<a href="/payments">Pay</a>
${user.isAdmin && html`<a href="/admin">Admin</a>`}
</nav>
<form class="who" method="post" action="/log-out">
<span>${user.fullName}</span>
<button class="quiet">Log out</button>
</form>`;
}

/**
 * @param {string | undefined} key
 * @returns {Html | undefined}
 */
export function noticeBox(key) {
  const notice = noticeFor(key);
  return (
    notice &&
    html`<p class="notice ${notice.tone}" role="${notice.tone === "bad" ? "alert" : "status"}">${notice.text}</p>`
  );
}
