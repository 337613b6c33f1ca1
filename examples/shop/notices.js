// @ts-check
import { MAX_NOTE_LENGTH, MAX_QUANTITY } from "./orders.js";
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from "./passwords.js";

/**
 * @typedef {object} Notice
 * @property {"good" | "info" | "bad"} tone
 * @property {string} text
 */

/**
 * Everything the shop has to say about signing in and out, and about orders. The keys `logged_out` and `not_found` are what `signedOutReason`
 * of the library answers.
 *
 * @type {Readonly<Record<string, Notice>>}
 */
const NOTICES = {
  logged_out: {
    tone: "info",
    text: "You were logged out on all your devices. That happens when you or an administrator asked for it, or when the password was changed. Sign in again to go on.",
  },
  not_found: { tone: "info", text: "Your session has ended or expired. Sign in again to go on." },
  signed_out: { tone: "good", text: "You signed out on this device." },
  everywhere: { tone: "good", text: "You are logged out on all your devices, this one included." },
  wrong: { tone: "bad", text: "The user name or the password is wrong." },
  superseded: {
    tone: "bad",
    text: "While that was going on, this account was logged out on all devices or its password was changed. Nothing else was done. Please sign in again.",
  },
  too_old: { tone: "info", text: "You signed in a while ago. For this page, please enter your password again." },
  password_set: { tone: "good", text: "Your password is changed. Please sign in with the new one." },

  order_item: { tone: "bad", text: "Please choose something. Nothing was ordered." },
  order_quantity: { tone: "bad", text: `How many: a whole number from 1 to ${MAX_QUANTITY}. Nothing was ordered.` },
  order_note: { tone: "bad", text: `The note has more than ${MAX_NOTE_LENGTH} characters. Nothing was ordered.` },
  order_expired: { tone: "info", text: "The form was open for a long time. Nothing was ordered. Please order again." },
  order_missing: { tone: "info", text: "The form could not be checked. Nothing was ordered. Please order again." },
  order_invalid: {
    tone: "info",
    text: "The form was of an earlier session, as you signed in again since. Nothing was ordered. Please order again.",
  },
  order_unknown: {
    tone: "info",
    text: "The form is no longer known. Please look at your orders. If this one is not among them, order again.",
  },

  others: { tone: "good", text: "All your other devices are logged out. This one stays signed in." },
  password: { tone: "good", text: "Your password is changed, and all your other devices are logged out." },
  old_password_wrong: { tone: "bad", text: "The current password is wrong. Nothing was changed." },
  password_length: {
    tone: "bad",
    text: `A new password needs ${MIN_PASSWORD_LENGTH} to ${MAX_PASSWORD_LENGTH} characters. Nothing was changed.`,
  },
  password_repeat: { tone: "bad", text: "The two new passwords differ. Nothing was changed." },
  password_race: { tone: "bad", text: "Your password was changed by somebody else meanwhile. Nothing more was done." },
};

/**
 * @param {string | undefined} key
 * @returns {Notice | undefined}
 */
export function noticeFor(key) {
  return key !== undefined && Object.hasOwn(NOTICES, key) ? NOTICES[key] : undefined;
}
