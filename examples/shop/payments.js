// @ts-check
import { randomUUID } from "node:crypto";

/**
 * @typedef {object} Payment
 * @property {string} id
 * @property {number} amount In cents, for one.
 * @property {string} currency
 * @property {number} quantity
 * @property {string} note
 * @property {number} at When it was made, in milliseconds since 1970.
 */

/** @typedef {Omit<Payment, "id" | "at">} PaymentOrder */

/**
 * A request to pay, as it was answered.
 *
 * @typedef {object} Try
 * @property {string} key
 * @property {number} status
 * @property {boolean} isReplay
 * @property {number} at
 */

export const CURRENCIES = ["EUR", "GBP", "USD"];
export const MAX_AMOUNT = 1_000_000;
export const MAX_QUANTITY = 100;
export const MAX_NOTE_LENGTH = 200;

/** How many payments and tries of one user are remembered: this is a demo, in memory. */
const MAX_PAYMENTS = 100;
const MAX_TRIES = 20;
const SHOWN_KEY_LENGTH = 40;

const MEMBERS = ["amount", "currency", "quantity", "note"];

/**
 * What somebody wants to pay, or what is wrong with it. Nothing is converted: a number in quotes is no number, and
 * a number that JavaScript cannot hold exactly is none either.
 *
 * @param {unknown} body
 * @returns {{ order: PaymentOrder } | { error: string, expected: string }}
 */
export function checkPayment(body) {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    return { error: "body_invalid", expected: "a JSON object" };
  }
  if (Object.keys(body).some((name) => !MEMBERS.includes(name))) {
    return { error: "member_unknown", expected: MEMBERS.join(", ") };
  }
  const { amount, currency, quantity = 1, note = "" } = /** @type {Record<string, unknown>} */ (body);
  if (!isWholeNumber(amount, MAX_AMOUNT)) {
    return { error: "amount_invalid", expected: `a whole number of cents from 1 to ${MAX_AMOUNT}` };
  }
  if (typeof currency !== "string" || !CURRENCIES.includes(currency)) {
    return { error: "currency_invalid", expected: CURRENCIES.join(", ") };
  }
  if (!isWholeNumber(quantity, MAX_QUANTITY)) {
    return { error: "quantity_invalid", expected: `a whole number from 1 to ${MAX_QUANTITY}` };
  }
  if (typeof note !== "string" || note.length > MAX_NOTE_LENGTH) {
    return { error: "note_invalid", expected: `text of at most ${MAX_NOTE_LENGTH} characters` };
  }
  return { order: { amount, currency, quantity, note } };
}

/**
 * @param {unknown} value
 * @param {number} max
 * @returns {value is number}
 */
function isWholeNumber(value, max) {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 1 && value <= max;
}

/** The payments, in memory: they end with the process. A real shop has a table, with a unique constraint on the key. */
export class Payments {
  /** @type {Map<string, Payment[]>} By user ID, the newest first. */
  #byUser = new Map();
  /** @type {Map<string, Try[]>} By user ID, the newest first. */
  #tries = new Map();

  /**
   * @param {string} userId
   * @param {PaymentOrder} order
   * @returns {Payment}
   */
  pay(userId, order) {
    // No running number: a stored answer outlives this list, and must not name a later payment.
    const payment = { id: randomUUID(), ...order, at: Date.now() };
    this.#byUser.set(userId, [payment, ...this.of(userId)].slice(0, MAX_PAYMENTS));
    return payment;
  }

  /**
   * @param {string} userId
   * @returns {Payment[]}
   */
  of(userId) {
    return this.#byUser.get(userId) ?? [];
  }

  /**
   * One of this user's own payments: others' are none.
   *
   * @param {string} userId
   * @param {string} id
   */
  find(userId, id) {
    return this.of(userId).find((payment) => payment.id === id);
  }

  /**
   * @param {string} userId
   * @param {Omit<Try, "at">} attempt
   */
  noteTry(userId, { key, status, isReplay }) {
    const noted = { key: key.slice(0, SHOWN_KEY_LENGTH), status, isReplay, at: Date.now() };
    this.#tries.set(userId, [noted, ...this.triesOf(userId)].slice(0, MAX_TRIES));
  }

  /**
   * @param {string} userId
   * @returns {Try[]}
   */
  triesOf(userId) {
    return this.#tries.get(userId) ?? [];
  }
}
