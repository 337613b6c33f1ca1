// @ts-check
import { Html, html } from "./html.js";
import { layout, noticeBox } from "./layout.js";
import { ITEMS, MAX_NOTE_LENGTH, MAX_QUANTITY } from "./orders.js";
import { time } from "./pages.js";

/** @typedef {import("./users.js").User} User */
/** @typedef {import("./orders.js").Order} Order */

/**
 * @typedef {object} OrderForm
 * @property {User | undefined} user
 * @property {string | undefined} [notice]
 * @property {string | undefined} [item] What was typed before, to be corrected.
 * @property {string | undefined} [quantity]
 * @property {string | undefined} [note]
 */

/**
 * @param {OrderForm & { tokenField: string }} form `tokenField` is HTML, as the library makes it.
 * @returns {Html}
 */
export function orderFormPage({ user, notice, item = "", quantity = "1", note = "", tokenField }) {
  return layout({
    title: "Order",
    user,
    script: "/submit-tokens.js",
    main: html`<h1>Order</h1>
${noticeBox(notice)}
<form class="card" method="post" action="/orders" data-submit-token="order">
${new Html(tokenField)}
<label for="item">What</label>
<select id="item" name="item" required>
${ITEMS.map(
  ({
    id,
    name,
    priceCents,
  }) => html`<option value="${id}"${id === item && html` selected`}>${name}, ${price(priceCents)}</option>
`,
)}</select>
<label for="quantity">How many</label>
<input id="quantity" name="quantity" type="number" inputmode="numeric" min="1" max="${MAX_QUANTITY}" value="${quantity}" required>
<label for="note">A note for us</label>
<textarea id="note" name="note" rows="3" maxlength="${MAX_NOTE_LENGTH}">
${note}</textarea>
<button>Place the order</button>
</form>
<p><a href="/orders">Your orders</a></p>`,
  });
}

/**
 * @param {{ user: User, order: Order }} options
 * @returns {Html}
 */
export function orderPage({ user, order: { id, item, quantity, note, at } }) {
  return layout({
    title: `Order ${id}`,
    user,
    main: html`<h1>Order ${id}</h1>
<section class="card">
<dl>
<dt>What</dt><dd>${quantity} × ${item.name}</dd>
<dt>Price</dt><dd>${price(quantity * item.priceCents)}</dd>
<dt>Your note</dt><dd class="typed">${note || "none"}</dd>
<dt>Placed at</dt><dd>${time(at)}</dd>
</dl>
</section>
<p><a href="/orders">Your orders</a> · <a href="/order">Order something else</a></p>`,
  });
}

/**
 * @param {{ user: User, orders: Order[] }} options
 * @returns {Html}
 */
export function ordersPage({ user, orders }) {
  const rows = orders.map(
    ({ id, item, quantity, at }) => html`<tr>
<td><a href="/orders/${id}">${id}</a></td><td>${quantity} × ${item.name}</td><td>${time(at)}</td>
</tr>
`,
  );
  return layout({
    title: "Your orders",
    user,
    main: html`<h1>Your orders</h1>
<section class="card">
${
  rows.length === 0
    ? html`<p>None yet.</p>`
    : html`<table>
<thead><tr><th scope="col">Number</th><th scope="col">What</th><th scope="col">When</th></tr></thead>
<tbody>
${rows}</tbody>
</table>`
}
</section>
<p><a href="/order">Order something</a></p>`,
  });
}

/**
 * For whoever sent a form a second time. The first submission is the one that counts, and this is what became of it.
 *
 * @param {{ user: User | undefined, location: string | undefined }} options `location` is there if it became an order.
 * @returns {Html}
 */
export function duplicatePage({ user, location }) {
  const title = location === undefined ? "This form was sent before" : "Your order went through";
  return layout({
    title,
    user,
    main: html`<section class="card narrow">
<h1>${title}</h1>
${
  location === undefined
    ? html`<p>Nothing was ordered this time. Whether something was ordered before is among your orders.</p>
<p><a href="/orders">Your orders</a> · <a href="/order">Order again</a></p>`
    : html`<p>The form was sent twice. It was ordered once.</p>
<p><a href="${location}">See the order</a> · <a href="/order">Order something else</a></p>`
}
</section>`,
  });
}

/** @param {number} cents */
function price(cents) {
  return `€ ${(cents / 100).toFixed(2)}`;
}
