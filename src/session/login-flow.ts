import { checkOptions, kindOf, misuse } from "../check.js";
import { LoginError } from "../errors.js";
import type { Generations } from "./generations.js";
import { LoginAttempt } from "./login-attempt.js";
import { newNonce } from "./nonce.js";
import { anonymousHead, freshLoginHead, inheritedLoginHead, newLogin, type StoredLogin } from "./record.js";
import { inTurn, requestState } from "./request-state.js";
import { mayBeStored } from "./session-binding.js";
import type { FreshSession, Keep, SessionExchange } from "./session-exchange.js";
import { type CurrentSession, currentSession, ensureHeadersOpen, type SessionRequest } from "./session-request.js";
import { encodeUserId, type UserId } from "./user-id.js";

/** Options of `store.login`. */
export interface LoginOptions {
  /**
   * What of the session's data the login keeps: `true` for all of it, or names of fields. By default (`false`) none: what an
   * anonymous visitor left, or another user, does not become the new user's.
   */
  readonly keep?: boolean | readonly string[] | undefined;
}

export interface LoginFlowParts {
  readonly generations: Generations;
  readonly exchange: SessionExchange;
  readonly endSession: (sid: string) => Promise<void>;
}

const LOGIN_OPTIONS = { keep: true } as const;

/** Signing in, and moving a login to a new session ID. */
export class LoginFlow {
  readonly #parts: LoginFlowParts;

  constructor(parts: LoginFlowParts) {
    this.#parts = parts;
  }

  async begin(userId: UserId, req: object | undefined): Promise<LoginAttempt> {
    const userText = encodeUserId("beginLogin", userId);
    if (req !== undefined && (typeof req !== "object" || req === null)) {
      throw misuse(`beginLogin: expected a request or nothing, got ${kindOf(req)}`, "ERR_INVALID_ARG_TYPE");
    }
    const generation = await this.#parts.generations.ensure(userText);
    if (req !== undefined) requestState(req).attempts.set(userText, generation);
    return new LoginAttempt(userText, generation);
  }

  async login(req: SessionRequest, who: LoginAttempt | UserId, options: LoginOptions): Promise<void> {
    const keep = checkKeep(options);
    const attempt = typeof who === "object" ? LoginAttempt.read(who) : { userText: encodeUserId("login", who) };
    if (attempt === undefined) {
      throw misuse(
        `login: expected a LoginAttempt made by beginLogin, or a user ID, got ${kindOf(who)}`,
        "ERR_INVALID_ARG_TYPE",
      );
    }
    currentSession("login", req, "even if ended");
    await inTurn(req, () => this.#login(req, attempt, keep));
  }

  async #login(req: SessionRequest, attempt: { userText: string; generation?: string }, keep: Keep): Promise<void> {
    // Ended by another request (the form sent twice, a logout): a login starts anew. Of the old session it takes no more than data to keep.
    const old = currentSession("login", req, "even if ended");
    ensureHeadersOpen(req);
    const { userText } = attempt;
    const generation = attempt.generation ?? (await this.#parts.generations.ensure(userText));
    const fresh = this.#parts.exchange.prepare(req, old, keep);
    await this.#insertConfirmed(fresh, newLogin(userText, generation));
    await this.#finish(req, old, fresh, () => this.#deleteOld(old));
  }

  async rotate(req: SessionRequest): Promise<void> {
    currentSession("rotate", req);
    await inTurn(req, async () => {
      const old = currentSession("rotate", req);
      // Never stored: its ID is as new as another would be, and nobody else has it.
      await old.binding.tail;
      if (!mayBeStored(old.binding)) return;
      await this.move(req, old, old.binding.login);
    });
  }

  /**
   * Ends the request's session for `regenerate()`. Its login may go on in the new session (`userId` option) only if this
   * request is the one that ended it: else a logout did, or another request has taken it along.
   */
  async leave(req: SessionRequest): Promise<void> {
    const old = currentSession("regenerate", req, "even if ended");
    const { login } = old.binding;
    let taken = false;
    try {
      await old.binding.tail;
      taken = login !== undefined && (await this.#parts.exchange.take(old));
      await this.#parts.endSession(old.sid);
    } finally {
      if (login !== undefined && !taken) requestState(req).held.set(login.userText, "ended");
    }
  }

  /** Moves a login (or an anonymous session) to a new session ID with all its data, if nobody ended it meanwhile. */
  async move(req: SessionRequest, old: CurrentSession, login: StoredLogin | undefined): Promise<void> {
    const { exchange } = this.#parts;
    ensureHeadersOpen(req);
    await old.binding.tail;
    const fresh = exchange.prepare(req, old, true);
    fresh.session.cookie = old.session.cookie;
    const head =
      login === undefined ? anonymousHead(newNonce()) : inheritedLoginHead(login, login.generation, newNonce());
    await exchange.insert(fresh, head, login);
    await this.#finish(req, old, fresh, async () => {
      if (await exchange.take(old)) return;
      throw new LoginError(
        "ERR_LOGIN_SUPERSEDED",
        "The session has been ended or exchanged by another request meanwhile",
      );
    });
  }

  /** Inserts the record and asks for the generation right behind it; only what is current stays. */
  async #insertConfirmed(fresh: FreshSession, login: StoredLogin): Promise<void> {
    const { exchange, generations } = this.#parts;
    const head = freshLoginHead(login.userText, login.generation, newNonce());
    const inserted = exchange.insert(fresh, head, login);
    const confirmed = generations.confirm(login.userText, login.generation);
    const [insertion, confirmation] = await Promise.allSettled([inserted, confirmed]);
    if (insertion.status === "rejected") throw insertion.reason;
    if (confirmation.status === "fulfilled" && confirmation.value) return;
    exchange.discard(fresh);
    if (confirmation.status === "rejected") throw confirmation.reason;
    throw new LoginError(
      "ERR_LOGIN_SUPERSEDED",
      "The user was logged out (or changed the password) while this login was going on; sign in again",
    );
  }

  /** Ends the old session and puts the new one on the request; on any failure the new one is gone and the old one stays. */
  async #finish(
    req: SessionRequest,
    old: CurrentSession,
    fresh: FreshSession,
    endOld: () => Promise<void>,
  ): Promise<void> {
    const { exchange } = this.#parts;
    try {
      ensureHeadersOpen(req);
      await endOld();
      exchange.adopt(req, old, fresh);
    } catch (error) {
      exchange.discard(fresh);
      throw error;
    }
  }

  async #deleteOld({ sid, binding }: CurrentSession): Promise<void> {
    await binding.tail;
    if (mayBeStored(binding)) await this.#parts.endSession(sid);
  }
}

function checkKeep(options: LoginOptions): Keep {
  checkOptions("login", options, LOGIN_OPTIONS);
  const { keep } = options;
  if (keep === undefined || keep === false) return undefined;
  if (keep === true) return keep;
  if (Array.isArray(keep) && keep.every((name) => typeof name === "string")) return keep;
  throw misuse(
    `login: keep: expected a boolean or an array of field names, got ${kindOf(keep)}`,
    "ERR_INVALID_ARG_TYPE",
  );
}
