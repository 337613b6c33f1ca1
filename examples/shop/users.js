// @ts-check
import { randomBytes } from "node:crypto";
import { hashPassword, passwordMatches } from "./passwords.js";

/**
 * @typedef {object} User
 * @property {string} id What the store knows the user by: the generation is at `user_login_age:<id>`.
 * @property {string} name What the user types to sign in.
 * @property {string} fullName
 * @property {boolean} isAdmin
 */

/** @typedef {import("./passwords.js").PasswordHash} PasswordHash */

/** Shown on the sign-in page: this is a demo. */
export const DEMO_USERS = [
  { id: "100", name: "alice", fullName: "Alice Liddell", isAdmin: false, password: "tea-party" },
  { id: "200", name: "bob", fullName: "Bob O'Brien & Sons", isAdmin: false, password: "can-we-fix-it" },
  { id: "900", name: "carol", fullName: "Carol Keys", isAdmin: true, password: "open-sesame" },
];

/** Stands in for users who do not exist: their sign-in takes the same steps and the same time, and fails. */
const NOBODY = Object.freeze({ id: "nobody", name: "", fullName: "", isAdmin: false });

/**
 * The demo users, in memory: a restart brings the first passwords back. A real shop has a table, and also limits how often a
 * password may be tried.
 */
export class Users {
  /** @type {Map<string, User>} */
  #byId = new Map();
  /** @type {Map<string, PasswordHash>} */
  #hashes = new Map();

  /** @returns {Promise<Users>} */
  static async create() {
    const users = new Users();
    const accounts = [...DEMO_USERS, { ...NOBODY, password: randomBytes(16).toString("hex") }];
    const hashes = await Promise.all(accounts.map(({ password }) => hashPassword(password)));
    for (const [index, { password: _password, ...user }] of accounts.entries()) {
      if (user.id !== NOBODY.id) users.#byId.set(user.id, user);
      users.#hashes.set(user.id, /** @type {PasswordHash} */ (hashes[index]));
    }
    return users;
  }

  /** @returns {User[]} */
  list() {
    return [...this.#byId.values()];
  }

  /**
   * @param {string | undefined} id
   * @returns {User | undefined}
   */
  byId(id) {
    return id === undefined ? undefined : this.#byId.get(id);
  }

  /**
   * Whoever signs in by this name; somebody with whom no password works if there is no such user.
   *
   * @param {string} name
   * @returns {User}
   */
  named(name) {
    const wanted = name.trim().toLowerCase();
    return this.list().find((user) => user.name === wanted) ?? NOBODY;
  }

  /**
   * Checks a password. Answers the hash it matched, as the proof that `replacePassword` asks for.
   *
   * @param {User} user
   * @param {string} password
   * @returns {Promise<PasswordHash | undefined>}
   */
  async checkPassword(user, password) {
    const hash = this.#hashes.get(user.id);
    if (hash === undefined) throw new Error("checkPassword: not one of these users");
    const matches = await passwordMatches(password, hash);
    return matches && user !== NOBODY ? hash : undefined;
  }

  /**
   * Sets a new password if the one that was checked is still the current one; false if another change was faster.
   *
   * @param {User} user
   * @param {PasswordHash} checked
   * @param {PasswordHash} replacement
   * @returns {boolean}
   */
  replacePassword(user, checked, replacement) {
    if (this.#hashes.get(user.id) !== checked) return false;
    this.#hashes.set(user.id, replacement);
    return true;
  }
}
