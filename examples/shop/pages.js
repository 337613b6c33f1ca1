// @ts-check
import { html } from "./html.js";
import { layout, noticeBox } from "./layout.js";
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from "./passwords.js";
import { DEMO_USERS } from "./users.js";

/** @typedef {import("./html.js").Html} Html */
/** @typedef {import("./users.js").User} User */
/** @typedef {import("logout-everywhere").Login} Login */

/**
 * @param {import("express").Response} res
 * @param {number} status
 * @param {Html} page
 */
export function sendPage(res, status, page) {
  res.status(status).type("html").send(page.text);
}

/**
 * @param {{ notice?: string | undefined, name?: string | undefined, next?: string | undefined }} [options]
 * @returns {Html}
 */
export function signInPage({ notice, name = "", next } = {}) {
  return layout({
    title: "Sign in",
    main: html`<section class="card narrow">
<h1>Sign in</h1>
${noticeBox(notice)}
<form method="post" action="/sign-in">
${next && html`<input type="hidden" name="next" value="${next}">`}
<label for="name">User name</label>
<input id="name" name="name" value="${name}" autocomplete="username" autocapitalize="none" spellcheck="false" required>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required>
<button>Sign in</button>
</form>
</section>
<aside class="card narrow hint">
<h2>Demo users</h2>
<table>
<thead><tr><th scope="col">User name</th><th scope="col">Password</th><th scope="col">Role</th></tr></thead>
<tbody>
${DEMO_USERS.map(
  (user) => html`<tr><td><code>${user.name}</code></td><td><code>${user.password}</code></td>
<td>${user.isAdmin ? "administrator" : "customer"}</td></tr>
`,
)}</tbody>
</table>
<p>Sign in as the same user in two browsers, log out everywhere in one, and reload the other.
A changed password lasts until the shop restarts.</p>
</aside>`,
  });
}

/**
 * @param {{ user: User, login: Login, notice?: string | undefined }} options
 * @returns {Html}
 */
export function accountPage({ user, login, notice }) {
  return layout({
    title: "Your account",
    user,
    main: html`<h1>Your account</h1>
${noticeBox(notice)}
<section class="card" aria-labelledby="this-login">
<h2 id="this-login">This login</h2>
<dl>
<dt>Signed in as</dt><dd>${user.fullName}</dd>
<dt>User ID</dt><dd><code>${user.id}</code></dd>
<dt>Generation</dt><dd><code id="generation">${login.generation}</code></dd>
<dt>Signed in at</dt><dd>${time(login.at)}</dd>
</dl>
<p class="note">This login is good while the user's generation in the store is the one above. On Redis, this logs the user out by hand:
<code>redis-cli INCR user_login_age:${user.id}</code></p>
</section>
<section class="card" aria-labelledby="devices">
<h2 id="devices">Devices</h2>
<div class="choices">
${choice("/log-out", "Log out", "This device only.")}
${choice("/log-out-others", "Log out my other devices", "This device stays signed in.")}
${choice("/log-out-everywhere", "Log out everywhere", "All devices, this one included.")}
</div>
</section>
${passwordForm(user)}`,
  });
}

/**
 * @param {string} action
 * @param {string} label
 * @param {string} effect
 */
function choice(action, label, effect) {
  return html`<form method="post" action="${action}">
<button>${label}</button>
<span>${effect}</span>
</form>
`;
}

/** @param {User} user */
function passwordForm(user) {
  const length = html`minlength="${MIN_PASSWORD_LENGTH}" maxlength="${MAX_PASSWORD_LENGTH}"`;
  return html`<section class="card" aria-labelledby="change-password">
<h2 id="change-password">Change password</h2>
<p>Your other devices will be logged out. This one stays signed in.</p>
<form method="post" action="/account/password">
<input name="name" value="${user.name}" autocomplete="username" readonly hidden>
<label for="old">Current password</label>
<input id="old" name="old" type="password" autocomplete="current-password" required>
<label for="new">New password</label>
<input id="new" name="new" type="password" autocomplete="new-password" ${length} required aria-describedby="rule">
<span id="rule" class="note">At least ${MIN_PASSWORD_LENGTH} characters.</span>
<label for="repeat">New password, once more</label>
<input id="repeat" name="repeat" type="password" autocomplete="new-password" ${length} required>
<button>Change password</button>
</form>
</section>`;
}

/**
 * @param {{ user: User, users: User[], loggedOut?: User | undefined }} options
 * @returns {Html}
 */
export function adminPage({ user, users, loggedOut }) {
  return layout({
    title: "Users",
    user,
    main: html`<h1>Users</h1>
${loggedOut && html`<p class="notice good" role="status">${loggedOut.fullName} is logged out on all devices.</p>`}
<section class="card">
<table>
<thead><tr><th scope="col">Name</th><th scope="col">User ID</th><th scope="col">Role</th><th scope="col"></th></tr></thead>
<tbody>
${users.map(
  ({ id, name, fullName, isAdmin }) => html`<tr>
<td>${fullName} <span class="note">${name}</span></td><td><code>${id}</code></td>
<td>${isAdmin ? "administrator" : "customer"}</td>
<td class="action"><form method="post" action="/admin/users/${encodeURIComponent(id)}/log-out">
<button aria-label="Log out ${fullName} everywhere">Log out everywhere</button></form></td>
</tr>
`,
)}</tbody>
</table>
<p class="note">The same as JSON: <code>POST /api/admin/users/:userId/log-out</code></p>
</section>`,
  });
}

/**
 * @param {{ title: string, text: string, done?: string | undefined, retryPath?: string | undefined }} message
 * @returns {Html}
 */
export function messagePage({ title, text, done, retryPath }) {
  return layout({
    title,
    main: html`<section class="card narrow">
<h1>${title}</h1>
${done && html`<p>${done}</p>`}
<p>${text}</p>
${retryPath && html`<form method="post" action="${retryPath}"><button>${retryPath === "/log-out-everywhere" ? "Log out everywhere" : "Do it again"}</button></form>`}
<p><a href="/">Back to the shop</a></p>
</section>`,
  });
}

/** @param {number | undefined} atMs */
export function time(atMs) {
  if (atMs === undefined) return "not known";
  const iso = new Date(atMs).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC</time>`;
}
