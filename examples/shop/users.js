// @ts-check
import { passwordMatches } from "./passwords.js";

/**
 * @typedef {object} User
 * @property {string} id What the store knows the user by: the generation is at `user_login_age:<id>`.
 * @property {string} name What the user types to sign in.
 * @property {string} fullName
 * @property {boolean} isAdmin
 */

/** The table of users. Their first passwords are shown on the sign-in page: this is a demo. */
export const DEMO_USERS = [
  {
    id: "100",
    name: "alice",
    fullName: "Alice Liddell",
    isAdmin: false,
    password: "tea-party",
    passwordHash: "scrypt$16384$8$5$-L8HVt6cPKh1CG4wFNl5ew$_REkUTd-RQo4Nazf4tvrzhoebl6WL-7OY3h1NeKMoTU",
  },
  {
    id: "200",
    name: "bob",
    fullName: "Bob O'Brien & Sons",
    isAdmin: false,
    password: "can-we-fix-it",
    passwordHash: "scrypt$16384$8$5$EnjGrWa-OSmU_d2vxxgNmQ$fCXHsQFc4mK4aXnQMERQNjBvzGuHYAb0TxParK2oyOI",
  },
  {
    id: "900",
    name: "carol",
    fullName: "Carol Keys",
    isAdmin: true,
    password: "open-sesame",
    passwordHash: "scrypt$16384$8$5$Roarf-P9gaKYM6cXRWqHDw$esSIr5exmyI40B2Wutr4WYfR3Eij-U9MzE0Tgc4_sEY",
  },
];

/** Stands in for users who do not exist: their sign-in takes the same steps and the same time, and fails. */
const NOBODY = Object.freeze({ id: "nobody", name: "", fullName: "", isAdmin: false });
const NOBODYS_HASH = "scrypt$16384$8$5$yxLPfa34-GQSf5Y7Nd5-3Q$Olt-Ct6zpIPdVrBfnfXg1fLbjgh1f1SR5D9-W3shXjM";

/**
 * The demo users, in memory: a restart brings the first passwords back. A real shop has a table, and also limits how often a
 * password may be tried.
 */
export class Users {
  /** @type {Map<string, User>} */
  #byId = new Map();
  /** @type {Map<string, string>} */
  #hashes = new Map([[NOBODY.id, NOBODYS_HASH]]);

  constructor() {
    for (const { password: _password, passwordHash, ...user } of DEMO_USERS) {
      this.#byId.set(user.id, user);
      this.#hashes.set(user.id, passwordHash);
    }
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
   * @returns {Promise<string | undefined>}
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
   * @param {string} checked
   * @param {string} replacement
   * @returns {boolean}
   */
  replacePassword(user, checked, replacement) {
    if (this.#hashes.get(user.id) !== checked) return false;
    this.#hashes.set(user.id, replacement);
    return true;
  }
}
