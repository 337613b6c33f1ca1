import type { Deadline } from "../redis/deadline.js";
import type { Generations } from "./generations.js";
import { newNonce } from "./nonce.js";
import { freshLoginHead, inheritedLoginHead, newLogin } from "./record.js";
import type { RequestState } from "./request-state.js";
import type { Stamp } from "./stamp.js";

/**
 * How a user is stamped who appears in the session data (the `userId` option): with the attempt this request began for that
 * user; else, if the request came (or has since been) logged in as that user, with the stamp it has, so that a request
 * overtaken by a logout cannot renew itself; else as a new login under the current generation. `"ended"`: that stamp went with
 * the session it was in.
 */
export async function stampFor(
  generations: Generations,
  state: RequestState | undefined,
  userText: string,
  deadline: Deadline,
): Promise<Stamp | "ended"> {
  const attempted = state?.attempts.get(userText);
  const held = state?.held.get(userText);
  if (attempted === undefined && held === "ended") return "ended";
  if (attempted === undefined && held !== undefined && held !== "ended") {
    return { head: inheritedLoginHead(held, held.generation, newNonce()), login: held, confirm: false };
  }
  const generation = attempted ?? (await generations.ensure(userText, deadline));
  return {
    head: freshLoginHead(userText, generation, newNonce()),
    login: newLogin(userText, generation),
    confirm: true,
  };
}
