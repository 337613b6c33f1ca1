// @ts-check
import { html } from "./html.js";
import { layout } from "./layout.js";
import { time } from "./pages.js";
import { CURRENCIES, MAX_AMOUNT, MAX_NOTE_LENGTH, MAX_QUANTITY } from "./payments.js";

/** @typedef {import("./html.js").Html} Html */
/** @typedef {import("./users.js").User} User */
/** @typedef {import("./payments.js").Payment} Payment */
/** @typedef {import("./payments.js").Try} Try */

/**
 * The form, which payments.js in the browser sends, and what became of what was sent.
 *
 * @param {{ user: User, payments: Payment[], tries: Try[] }} options
 * @returns {Html}
 */
export function paymentsPage({ user, payments, tries }) {
  return layout({
    title: "Payments",
    user,
    script: "/payments.js",
    main: html`<h1>Pay</h1>
<p id="outcome" role="status" hidden></p>
<form class="card" id="payment" method="post" action="/payments">
<label for="amount">Amount, for one</label>
<input id="amount" name="amount" type="number" inputmode="decimal" min="0.01" max="${MAX_AMOUNT / 100}" step="0.01" required>
<label for="currency">Currency</label>
<select id="currency" name="currency">
${CURRENCIES.map(
  (currency) => html`<option>${currency}</option>
`,
)}</select>
<label for="quantity">How many</label>
<input id="quantity" name="quantity" type="number" inputmode="numeric" min="1" max="${MAX_QUANTITY}" value="1" required>
<label for="note">A note for us</label>
<textarea id="note" name="note" rows="2" maxlength="${MAX_NOTE_LENGTH}"></textarea>
<button disabled>Pay</button>
<noscript><p class="note">Paying here needs JavaScript.</p></noscript>
</form>
<div id="payments">
<section class="card" aria-labelledby="paid">
<h2 id="paid">Your payments</h2>
${payments.length === 0 ? html`<p>None yet.</p>` : paymentTable(payments)}
</section>
<section class="card" aria-labelledby="tries">
<h2 id="tries">What was sent</h2>
${tries.length === 0 ? html`<p>Nothing yet.</p>` : tryTable(tries)}
</section>
</div>`,
  });
}

/** @param {Payment[]} payments */
function paymentTable(payments) {
  return html`<table>
<thead><tr><th scope="col">When</th><th scope="col">Amount</th><th scope="col">Note</th></tr></thead>
<tbody>
${payments.map(
  (payment) => html`<tr>
<td><a href="/payments/${payment.id}">${time(payment.at)}</a></td><td>${sum(payment)}</td><td class="typed">${payment.note}</td>
</tr>
`,
)}</tbody>
</table>`;
}

/** @param {Try[]} tries */
function tryTable(tries) {
  return html`<table>
<thead><tr><th scope="col">When</th><th scope="col">Idempotency key</th><th scope="col">Answer</th></tr></thead>
<tbody>
${tries.map(
  ({ at, key, status, isReplay }) => html`<tr>
<td>${time(at)}</td><td><code>${key || "none"}</code></td><td>${status}, ${meaning(status, isReplay)}</td>
</tr>
`,
)}</tbody>
</table>`;
}

/**
 * @param {number} status
 * @param {boolean} isReplay
 */
function meaning(status, isReplay) {
  if (isReplay) return "the first answer again";
  if (status === 201) return "paid";
  return status === 409 ? "not finished" : "refused";
}

/**
 * @param {{ user: User, payment: Payment }} options
 * @returns {Html}
 */
export function paymentPage({ user, payment }) {
  const { id, note, at } = payment;
  return layout({
    title: "Payment",
    user,
    main: html`<h1>Payment</h1>
<section class="card">
<dl>
<dt>Number</dt><dd><code>${id}</code></dd>
<dt>Amount</dt><dd>${sum(payment)}</dd>
<dt>Your note</dt><dd class="typed">${note || "none"}</dd>
<dt>Paid at</dt><dd>${time(at)}</dd>
</dl>
</section>
<p><a href="/payments">Your payments</a></p>`,
  });
}

/** @param {Payment} payment */
function sum({ amount, currency, quantity }) {
  return `${quantity} × ${currency} ${(amount / 100).toFixed(2)}`;
}
