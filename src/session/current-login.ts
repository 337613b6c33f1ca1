import { kindOf, misuse } from "../check.js";
import type { Generations } from "./generations.js";
import { bindingOf } from "./session-binding.js";
import type { SessionLoader } from "./session-loader.js";
import type { SessionRequest } from "./session-request.js";
import { encodeUserId, type UserId } from "./user-id.js";

/** A login as another credential carries it: a JWT, a remember-me token. */
export interface LoginStamp {
  /** Whose login it is. */
  readonly userId: UserId;
  /** The generation it was made under, decimal text. */
  readonly generation: string;
}

/** Whether a request's login, or a stamp, still holds at this moment. */
export async function isCurrentLogin(
  { generations, loader }: { readonly generations: Generations; readonly loader: SessionLoader },
  target: SessionRequest | LoginStamp,
): Promise<boolean> {
  if (typeof target !== "object" || target === null) {
    throw misuse(
      `isCurrent: expected a request or { userId, generation }, got ${kindOf(target)}`,
      "ERR_INVALID_ARG_TYPE",
    );
  }
  if ("userId" in target && "generation" in target) {
    const current = await generations.current(encodeUserId("isCurrent", target.userId));
    return current !== undefined && current === target.generation;
  }
  const { session, sessionID } = target as Partial<SessionRequest>;
  const held = typeof session === "object" && session !== null ? bindingOf(session) : undefined;
  if (held?.login === undefined || typeof sessionID !== "string") return false;
  const { data } = await loader.load(sessionID);
  const login = data === null ? undefined : bindingOf(data)?.login;
  return login?.userText === held.login.userText && login.generation === held.login.generation;
}
