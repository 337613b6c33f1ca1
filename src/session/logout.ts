import { checkInteger, checkOptions, checkText } from "../check.js";
import { LoginError, type LogoutReceipt, LogoutUnconfirmedError, RedisError } from "../errors.js";
import type { Mark } from "../redis/replicated-connection.js";
import type { Replication } from "../redis/replication.js";
import type { Generations } from "./generations.js";
import type { LoginFlow } from "./login-flow.js";
import type { LogoutJournal } from "./logout-journal.js";
import { userIdOf } from "./record.js";
import { inTurn } from "./request-state.js";
import type { RaiseReply } from "./scripts/raise-generation.js";
import { currentSession, ensureHeadersOpen, type SessionRequest } from "./session-request.js";
import type { LogoutEvent, StoreEvents } from "./store-events.js";
import { encodeUserId, type UserId } from "./user-id.js";

/** Options of `logoutEverywhere` and `logoutOthers`. */
export interface LogoutOptions {
  /**
   * How many replicas must hold the new generation before the logout counts as done, 0 to 100. With all of a primary's
   * replicas, a confirmed logout survives the loss of the primary; with fewer, another replica may be promoted.
   * @defaultValue 0
   */
  readonly replicas?: number | undefined;
  /**
   * How long to wait for the replicas, in milliseconds, 1 to 60 000. Never 0: to Redis that means for ever.
   * @defaultValue 1 000
   */
  readonly timeoutMs?: number | undefined;
  /** For the `logout` event only; at most 200 characters. */
  readonly reason?: string | undefined;
}

export interface LogoutParts {
  readonly generations: Generations;
  readonly flow: LoginFlow;
  readonly replication: Replication;
  readonly journal: LogoutJournal;
  readonly events: StoreEvents;
}

interface Durability {
  readonly replicas: number;
  readonly timeoutMs: number;
  readonly reason: string | undefined;
}

const LOGOUT_OPTIONS = { replicas: true, timeoutMs: true, reason: true } as const;

/** Ends logins by raising the user's generation, and reports as done only what is certain. */
export class Logout {
  readonly #parts: LogoutParts;

  constructor(parts: LogoutParts) {
    this.#parts = parts;
  }

  async everywhere(userId: UserId, options: LogoutOptions): Promise<LogoutReceipt> {
    const userText = encodeUserId("logoutEverywhere", userId);
    const durability = checkDurability("logoutEverywhere", options);
    return await this.#confirm("everywhere", userText, await this.#raise(userText), durability);
  }

  async others(req: SessionRequest, options: LogoutOptions): Promise<LogoutReceipt> {
    const durability = checkDurability("logoutOthers", options);
    currentSession("logoutOthers", req);
    return await inTurn(req, () => this.#others(req, durability));
  }

  async #others(req: SessionRequest, durability: Durability): Promise<LogoutReceipt> {
    const old = currentSession("logoutOthers", req);
    const { login } = old.binding;
    if (login === undefined) {
      throw new LoginError(
        "ERR_NOT_LOGGED_IN",
        "logoutOthers needs a request that is logged in; this one is anonymous",
      );
    }
    // Before anything is raised: afterwards this device could not be moved, and would be out like the others.
    ensureHeadersOpen(req);
    const generation = await this.#raise(login.userText, login.generation);
    // Before the replicas are waited for: what this device has is stale now, and any other request of it would find that out.
    try {
      await this.#parts.flow.move(req, old, { ...login, generation });
    } catch (error) {
      // The others are out all the same, and so is this device.
      this.#parts.events.emit("logout", { scope: "everywhere", generation, replicas: 0, reason: durability.reason });
      throw error;
    }
    return await this.#confirm("others", login.userText, generation, durability);
  }

  /** Raises the generation; if it goes wrong, the logout may or may not have happened. */
  async #raise(userText: string, from?: string): Promise<string> {
    const { generations, journal } = this.#parts;
    let reply: RaiseReply;
    try {
      reply = await generations.raise(userText, from);
    } catch (cause) {
      // Repeating it would not help: the store is closed for good.
      if (cause instanceof RedisError && cause.code === "ERR_STORE_CLOSED") throw cause;
      throw new LogoutUnconfirmedError("It is not certain that the logout took effect; repeat it", cause);
    }
    if (reply.kind === "superseded") throw superseded();
    journal.noteRaise(userText, reply.generation);
    return reply.generation;
  }

  async #confirm(
    scope: LogoutEvent["scope"],
    userText: string,
    generation: string,
    { replicas, timeoutMs, reason }: Durability,
  ): Promise<LogoutReceipt> {
    const receipt = { userId: userIdOf(userText), generation, replicas: 0 };
    if (replicas > 0) {
      try {
        receipt.replicas = await this.#acknowledged(userText, generation, replicas, timeoutMs);
      } catch (cause) {
        const message = "The logout took effect, but whether the replicas have it could not be learned; repeat it";
        throw new LogoutUnconfirmedError(message, cause, receipt);
      }
      if (receipt.replicas < replicas) {
        const message = `The logout took effect, but only ${receipt.replicas} of ${replicas} replicas acknowledged it in time`;
        throw new LogoutUnconfirmedError(`${message}; repeat it`, undefined, receipt);
      }
    }
    this.#parts.events.emit("logout", { scope, generation, replicas: receipt.replicas, reason });
    return receipt;
  }

  #acknowledged(userText: string, generation: string, replicas: number, timeoutMs: number): Promise<number> {
    const { generations, replication } = this.#parts;
    const mark: Mark = async (redis) => {
      if (await generations.rewrite(userText, generation, redis)) return;
      throw new RedisError("ERR_REDIS_REPLY", "refused", "Redis has lost the generation that was just raised");
    };
    return replication.acknowledged(mark, replicas, timeoutMs, generations.keyOf(userText));
  }
}

function superseded(): LoginError {
  return new LoginError(
    "ERR_LOGIN_SUPERSEDED",
    "This login has itself been logged out meanwhile, so it may not log out others; nothing was changed",
  );
}

function checkDurability(where: string, options: LogoutOptions): Durability {
  checkOptions(where, options, LOGOUT_OPTIONS);
  const { replicas = 0, timeoutMs = 1_000, reason } = options;
  if (reason !== undefined) checkText(`${where}: reason`, reason);
  return {
    replicas: checkInteger(`${where}: replicas`, replicas, { min: 0, max: 100, unit: "replicas" }),
    timeoutMs: checkInteger(`${where}: timeoutMs`, timeoutMs, { min: 1, max: 60_000, unit: "milliseconds" }),
    reason: reason?.slice(0, 200),
  };
}
