import type { Random } from "./random.js";

/** How many session IDs of a user are kept in use. */
const MAX_OF_USER = 6;

/** Of ended sessions, this part is forgotten each time one is found ended: the others are tried again, they must stay ended. */
const FORGOTTEN = 0.3;

/** The session cookies that are about, living and dead, by user; `""` for anonymous ones. */
export class SessionPool {
  readonly #sids = new Map<string, string[]>();

  add(user: string, sid: string): void {
    const sids = this.#sids.get(user) ?? [];
    if (sids.includes(sid)) return;
    sids.push(sid);
    if (sids.length > MAX_OF_USER) sids.shift();
    this.#sids.set(user, sids);
  }

  pick(user: string, random: Random): string | undefined {
    const sids = this.#sids.get(user) ?? [];
    // The newest is the one most likely to live.
    return random.chance(0.5) ? sids.at(-1) : random.pick(sids);
  }

  foundEnded(user: string, sid: string, random: Random): void {
    const sids = this.#sids.get(user);
    if (sids === undefined || !random.chance(FORGOTTEN)) return;
    const index = sids.indexOf(sid);
    if (index >= 0) sids.splice(index, 1);
  }
}
