import type { IncomingMessage } from "node:http";
import session, { type Session, type SessionData } from "express-session";
import { kindOf, misuse } from "../check.js";
import type { LogoutReceipt } from "../errors.js";
import { isCurrentLogin, type LoginStamp } from "./current-login.js";
import { type Callback, deliver } from "./deliver.js";
import { LoginAttempt } from "./login-attempt.js";
import type { LoginOptions } from "./login-flow.js";
import type { LogoutOptions } from "./logout.js";
import type { Generate } from "./mount-generate.js";
import { serializeSession } from "./payload.js";
import { type ReadRequestOptions, readRequestSession } from "./read-request.js";
import { holdLogin, inTurn, requestState, type SignedOutReason } from "./request-state.js";
import {
  bindingOf,
  bindSession,
  foreignBinding,
  newBinding,
  type SessionBinding,
  shareBinding,
} from "./session-binding.js";
import type { SessionRequest } from "./session-request.js";
import type { GenerationStoreOptions } from "./store-options.js";
import { type StoreParts, storeParts } from "./store-parts.js";
import { encodeUserId, type UserId } from "./user-id.js";

/**
 * A session store for express-session that checks every read against the user's current generation, so that raising one
 * number logs a user out on every device at once.
 *
 * Every operation ends within `commandTimeoutMs` and fails closed: a store that cannot ask Redis answers an error with a
 * `code` and `status: 503`, never "no session". Store methods take a callback or return a promise.
 *
 * @example
 * ```ts
 * const store = new GenerationStore({ client: new Redis(process.env.REDIS_URL) });
 * app.use(session({ store, name: "sid", secret, resave: false, saveUninitialized: false }));
 *
 * app.post("/sign-in", async (req, res) => {
 *   const user = await findUser(req.body.email);
 *   const attempt = await store.beginLogin(user.id);        // before the password is checked
 *   if (!(await passwordMatches(user, req.body.password))) return res.status(401).send("Wrong password");
 *   await store.login(req, attempt);
 *   res.redirect("/account");
 * });
 *
 * app.post("/log-out-everywhere", async (req, res) => {
 *   await store.logoutEverywhere(loginOf(req).userId);
 *   res.redirect("/sign-in");
 * });
 * ```
 */
export class GenerationStore extends session.Store {
  readonly #parts: StoreParts;
  /** Set only while the callback of a refused read runs: express-session calls `generate` from within it. */
  #refusal: SignedOutReason | undefined;

  /**
   * Opens no connection and sends nothing. Throws a `TypeError` for options that are missing, unknown or out of range.
   */
  constructor(options: GenerationStoreOptions) {
    super();
    this.#parts = storeParts(options, (name, event) => this.emit(name, event));
    // express-session assigns `generate` on each mount; what it calls must also bind the new session.
    Object.defineProperty(this, "generate", {
      configurable: true,
      enumerable: true,
      get: () => (this.#parts.mount.isMounted ? this.#generate : undefined),
      set: (generate: Generate) => this.#parts.mount.assign(generate),
    });
  }

  /**
   * Reads and checks a session. Answers `null` for one that is unknown, expired, logged out or unusable; errors mean that
   * Redis could not be asked (`RedisError`).
   */
  override get(sid: string): Promise<SessionData | null>;
  override get(sid: string, callback: (error: unknown, session?: SessionData | null) => void): void;
  override get(sid: string, callback?: Callback<SessionData | null>): Promise<SessionData | null> | undefined {
    const loaded = this.#parts.loader.load(sid);
    // With a callback it is express-session that asks: it makes a Session of the data, and that is shared anyway.
    if (typeof callback !== "function") return deliver(loaded.then(sharedData), undefined);
    return deliver(loaded, (error, outcome) => {
      this.#refusal = outcome?.reason;
      try {
        if (outcome === undefined) callback(error);
        else callback(null, outcome.data);
      } finally {
        this.#refusal = undefined;
      }
    }) as undefined;
  }

  /**
   * Saves a session as it is at the time of the call. A session that was ended meanwhile stays ended: the save then answers
   * success, writes nothing and emits `fenced`. Plain objects (not from `req.session` or `get`) change a record's data in
   * place, or make an anonymous one; they log nobody in.
   */
  override set(sid: string, session: SessionData): Promise<void>;
  override set(sid: string, session: SessionData, callback: ((error?: unknown) => void) | undefined): void;
  override set(sid: string, data: SessionData, callback?: Callback<void>): Promise<void> | undefined {
    return deliver(this.#save(sid, data), callback);
  }

  /**
   * Extends a session's life, by its cookie. Never creates a record, never shortens a life; left out while this process did
   * it less than `touchIntervalMs` ago. Stores a changed cookie ("remember me") and leaves the data as it is.
   */
  override touch(sid: string, session: SessionData): Promise<void>;
  override touch(sid: string, session: SessionData, callback: ((error?: unknown) => void) | undefined): void;
  override touch(sid: string, data: SessionData, callback?: Callback<void>): Promise<void> | undefined {
    return deliver(this.#touch(sid, data), callback);
  }

  /** Ends one session: this device is out, the user's others are not. */
  override destroy(sid: string): Promise<void>;
  override destroy(sid: string, callback: ((error?: unknown) => void) | undefined): void;
  override destroy(sid: string, callback?: Callback<void>): Promise<void> | undefined {
    return deliver(this.#parts.directory.destroy(sid), callback);
  }

  /** @internal Called by `req.session.regenerate()`: ends the session and puts a new one on the request. */
  override regenerate(req: SessionRequest, callback: (error?: unknown) => unknown): void {
    const left = bindingOf(req.session ?? {}) === undefined ? this.destroy(req.sessionID) : this.#leave(req);
    void deliver(
      left.finally(() => this.#generate(req)),
      callback,
    );
  }

  #leave(req: SessionRequest): Promise<void> {
    return inTurn(req, () => this.#parts.flow.leave(req));
  }

  /** All sessions that are good at the moment, each with its `id`. Walks the whole keyspace: for tools, not for pages. */
  override all(): Promise<(SessionData & { id: string })[]>;
  override all(callback: (error: unknown, sessions?: SessionData[] | null) => void): void;
  override all(
    callback?: Callback<(SessionData & { id: string })[]>,
  ): Promise<(SessionData & { id: string })[]> | undefined {
    return deliver(this.#parts.directory.all(), callback);
  }

  /** The IDs of all records, those of logged-out users that have not expired yet included. Walks the whole keyspace. */
  ids(): Promise<string[]>;
  ids(callback: (error: unknown, ids?: string[]) => void): void;
  ids(callback?: Callback<string[]>): Promise<string[]> | undefined {
    return deliver(this.#parts.directory.ids(), callback);
  }

  /** The number of records, those of logged-out users that have not expired yet included. Walks the whole keyspace. */
  override length(): Promise<number>;
  override length(callback: (error: unknown, length?: number) => void): void;
  override length(callback?: Callback<number>): Promise<number> | undefined {
    return deliver(
      this.#parts.directory.ids().then((ids) => ids.length),
      callback,
    );
  }

  /** Deletes all sessions under `sessionPrefix`, and nothing else. Not atomic: sessions made meanwhile may survive. */
  override clear(): Promise<void>;
  override clear(callback: ((error?: unknown) => void) | undefined): void;
  override clear(callback?: Callback<void>): Promise<void> | undefined {
    return deliver(this.#parts.directory.clear(), callback);
  }

  /** @internal Called by express-session for each session it has read. */
  override createSession(req: Parameters<session.Store["createSession"]>[0], data: SessionData): Session & SessionData {
    const binding = bindingOf(data) ?? foreignBinding();
    if (binding.bare) {
      // A bare `user,generation` has no cookie of its own: it gets the mount's.
      if (this.#parts.mount.isMounted)
        data.cookie = this.#parts.mount.beside(req).session.cookie as SessionData["cookie"];
      binding.payload = serializeSession(data);
    }
    const created = super.createSession(req, data);
    bindSession(created, binding);
    if (binding.sid !== undefined && req.sessionID === binding.sid) {
      const { login } = binding;
      const { held } = requestState(req);
      if (login !== undefined && !held.has(login.userText)) held.set(login.userText, login);
      this.#parts.retired.watch(req, binding.sid, binding.readAt);
    }
    return created;
  }

  /**
   * Begins a login: call it *before* the password is checked, and give what it returns to `login`. If the user is logged out
   * everywhere in between, say because the password was just changed, that login fails with `ERR_LOGIN_SUPERSEDED`.
   * With `req`, also a login that the `userId` option sees in this request uses it (Passport: call it inside `verify`).
   */
  async beginLogin(userId: UserId, req?: object): Promise<LoginAttempt> {
    return await this.#parts.flow.begin(userId, req);
  }

  /** Restores an attempt that waited in the session as text (`String(attempt)`) for a second factor. Never take it from a client. */
  resumeLogin(text: string): LoginAttempt {
    return LoginAttempt.parse(text);
  }

  /**
   * Logs a user in on this request: under a new session ID, stamped with the user's generation. The session's data is
   * dropped unless kept. When it rejects nobody was logged in, and the request still has its old session.
   *
   * Errors: `ERR_LOGIN_SUPERSEDED` (409), `ERR_HEADERS_SENT`, `RedisError` (503). With a bare user ID instead of an attempt,
   * a login whose password was checked before a change can still slip in after it: prefer `beginLogin`.
   */
  async login(req: SessionRequest, attempt: LoginAttempt | UserId, options: LoginOptions = {}): Promise<void> {
    await this.#parts.flow.login(req, attempt, options);
  }

  /** Moves this login (or anonymous session) to a new session ID: same data, same generation, same login time. */
  async rotate(req: SessionRequest): Promise<void> {
    await this.#parts.flow.rotate(req);
  }

  /**
   * Logs a user out on every device, this one included. Costs one command, however many sessions there are. Once it has
   * resolved, no read that starts later returns one of the older sessions. Also for users who are not known to exist.
   *
   * Errors: `ERR_LOGOUT_UNCONFIRMED` (503) when that is not certain; repeat it.
   */
  async logoutEverywhere(userId: UserId, options: LogoutOptions = {}): Promise<LogoutReceipt> {
    return await this.#parts.logout.everywhere(userId, options);
  }

  /**
   * Logs this request's user out on every *other* device; this one stays in, under a new session ID. For password changes
   * and "log out my other devices".
   *
   * Errors: `ERR_LOGIN_SUPERSEDED` (409) when this login was itself logged out meanwhile, and nothing changes;
   * `ERR_NOT_LOGGED_IN` (401); `ERR_LOGOUT_UNCONFIRMED` (503); `RedisError` after the others were logged out but this
   * session could not be moved: then this device is out too.
   */
  async logoutOthers(req: SessionRequest, options: LogoutOptions = {}): Promise<LogoutReceipt> {
    return await this.#parts.logout.others(req, options);
  }

  /**
   * Asks Redis again whether a login still holds: before irreversible work in a long handler, or for a JWT or a
   * remember-me token that carries `{ userId, generation }`. For a request, its session must still be there as well.
   */
  async isCurrent(requestOrStamp: SessionRequest | LoginStamp): Promise<boolean> {
    return await isCurrentLogin(this.#parts, requestOrStamp);
  }

  /** The user's current generation; `undefined` if there is none: nobody of that user is logged in. */
  async generation(userId: UserId): Promise<string | undefined> {
    return await this.#parts.generations.current(encodeUserId("generation", userId));
  }

  /**
   * Reads the session of a request that express-session does not see (a WebSocket upgrade, plain `http`): finds the signed
   * cookie, reads and checks. `null` if there is no good session; `loginOf` works on the result. Of several cookies with the
   * name, the first good one counts. Changes and extends nothing.
   */
  async readRequest(req: IncomingMessage, options: ReadRequestOptions): Promise<SessionData | null> {
    return await readRequestSession(this.#parts.loader, req, options);
  }

  /** Ends what the store itself has open. Later calls fail with `ERR_STORE_CLOSED`. The client stays the application's. */
  async close(): Promise<void> {
    this.#parts.close();
  }

  readonly #generate: Generate = (req) => {
    this.#parts.mount.on(req);
    const { session: created, sessionID } = req as SessionRequest;
    bindSession(created, newBinding(sessionID));
    if (this.#refusal !== undefined) requestState(req).signedOut = this.#refusal;
  };

  async #save(sid: string, data: SessionData): Promise<void> {
    const { writer, events, dataUser, serialize, lifetimes, stampFor, warnIfUnprotected } = this.#parts;
    if (typeof data !== "object" || data === null) {
      throw misuse(`set: expected session data, got ${kindOf(data)}`, "ERR_INVALID_ARG_TYPE");
    }
    const binding = this.#bindingFor(sid, data);
    const payload = serialize(data);
    warnIfUnprotected(binding, data);
    const snapshot = {
      payload,
      lifetimeMs: lifetimes.ofSession(data, binding.login !== undefined),
      dataUser: dataUser.of(data),
    };
    const outcome = await writer.save(sid, binding, snapshot, stampFor(data));
    const { req } = data as { readonly req?: object };
    const isStamped = snapshot.dataUser !== undefined && (outcome === "written" || outcome === "superseded");
    if (isStamped && req !== undefined) holdLogin(req, binding.login);
    if (outcome === "fenced") events.emit("fenced", { operation: "save", reason: "ended" });
    if (outcome === "superseded") events.emit("fenced", { operation: "save", reason: "superseded" });
  }

  async #touch(sid: string, data: SessionData | null | undefined): Promise<void> {
    const { writer, events, lifetimes } = this.#parts;
    const cookie = data?.cookie;
    const binding = this.#bindingFor(sid, data);
    const lifetimeMs = lifetimes.ofSession(data ?? {}, binding.login !== undefined);
    const outcome = await writer.touch(sid, binding, cookie, lifetimeMs);
    if (outcome === "fenced") events.emit("fenced", { operation: "touch", reason: "ended" });
  }

  #bindingFor(sid: string, data: object | null | undefined): SessionBinding {
    if (data === null || data === undefined) return foreignBinding();
    const known = bindingOf(data);
    if (known !== undefined) return known.sid === sid ? known : foreignBinding();
    if (!isSessionOf(sid, data)) return foreignBinding();
    // A Session that no mount of ours made: express-session's class, used directly.
    const binding = newBinding(sid);
    bindSession(data, binding);
    return binding;
  }
}

function sharedData({ data }: { readonly data: SessionData | null }): SessionData | null {
  if (data !== null) shareBinding(data);
  return data;
}

function isSessionOf(sid: string, data: object): boolean {
  const { id, req, save } = data as { id?: unknown; req?: unknown; save?: unknown };
  return id === sid && typeof req === "object" && typeof save === "function" && !Object.keys(data).includes("req");
}
