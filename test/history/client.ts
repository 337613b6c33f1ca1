import {
  askAgain,
  destroy,
  poll,
  readByRequest,
  readByStore,
  readByUpgrade,
  regenerate,
  save,
  saveByHand,
} from "./session-steps.js";
import * as user from "./user-steps.js";
import type { World } from "./world.js";

/** What a client does next, and how often. Logouts are rare, so that sessions live long enough for much to happen to them. */
const WEIGHTS = {
  readByRequest: 26,
  readByStore: 12,
  readByUpgrade: 4,
  askAgain: 8,
  poll: 10,
  save: 10,
  saveByHand: 4,
  signIn: 10,
  rotate: 4,
  others: 1.5,
  destroy: 2.5,
  regenerate: 1,
  everywhere: 0.8,
  incr: 0.5,
  resetPassword: 0.3,
  changePassword: 0.6,
  visit: 1.5,
} as const;

const SESSION_STEPS = {
  ...{ askAgain, destroy, poll, readByRequest, readByStore, readByUpgrade, regenerate, save, saveByHand },
};

/** One concurrent client: does one thing after the other until it is stopped. */
export async function runClient(world: World, users: readonly string[], isStopped: () => boolean): Promise<void> {
  while (!isStopped()) await doSomething(world, users);
  world.doing.delete(world.client);
}

/** Half the logouts meet somebody who is just signing in or being moved. */
function victim({ busy, random }: World, who: string): string {
  return busy.user !== "" && random.chance(0.5) ? busy.user : who;
}

async function doSomething(world: World, users: readonly string[]): Promise<void> {
  const { random, pool } = world;
  const who = random.pick(users) ?? "";
  const what = random.weighted(WEIGHTS);
  world.doing.set(world.client, what);
  switch (what) {
    case "signIn":
      return user.signInSomehow(world, who);
    case "everywhere":
      return user.logoutEverywhere(world, victim(world, who));
    case "incr":
      return user.incrementByHand(world, victim(world, who));
    case "resetPassword":
      return user.resetPassword(world, victim(world, who));
    case "changePassword":
      return user.changePassword(world, who);
    case "visit":
      return user.visit(world, who);
    default:
      break;
  }
  const whose = random.chance(0.05) ? "" : who;
  const sid = pool.pick(whose, random);
  if (sid === undefined) return user.signInSomehow(world, who);
  if (what === "rotate") await user.exchange(world, "rotate", whose, sid);
  else if (what === "others") await user.exchange(world, "others", whose, sid);
  else await SESSION_STEPS[what](world, whose, sid);
}
