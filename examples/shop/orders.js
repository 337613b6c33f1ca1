// @ts-check

/**
 * @typedef {object} Order
 * @property {string} id
 * @property {Item} item
 * @property {number} quantity
 * @property {string} note
 * @property {number} at When it was placed, in milliseconds since 1970.
 */

/** @typedef {{ readonly id: string, readonly name: string, readonly priceCents: number }} Item */

/** What the shop sells. @type {readonly Item[]} */
export const ITEMS = [
  { id: "tea", name: "Black tea, 100 g", priceCents: 650 },
  { id: "cups", name: "Two cups", priceCents: 1890 },
  { id: "jam", name: "Orange marmalade", priceCents: 480 },
];

export const MAX_QUANTITY = 20;
export const MAX_NOTE_LENGTH = 200;

/** How many orders of one user are remembered: this is a demo, in memory. */
const MAX_ORDERS = 100;

/** The orders, in memory: they end with the process. A real shop has a table. */
export class Orders {
  #lastNumber = 1000;
  /** @type {Map<string, Order[]>} By user ID, the newest first. */
  #byUser = new Map();

  /**
   * @param {string} userId
   * @param {Omit<Order, "id" | "at">} order
   * @returns {Order}
   */
  place(userId, order) {
    this.#lastNumber += 1;
    const placed = { ...order, id: String(this.#lastNumber), at: Date.now() };
    this.#byUser.set(userId, [placed, ...this.of(userId)].slice(0, MAX_ORDERS));
    return placed;
  }

  /**
   * @param {string} userId
   * @returns {Order[]}
   */
  of(userId) {
    return this.#byUser.get(userId) ?? [];
  }

  /**
   * One of this user's own orders: others' are none.
   *
   * @param {string} userId
   * @param {string} id
   */
  find(userId, id) {
    return this.of(userId).find((order) => order.id === id);
  }
}
