import { SESSION_BINDING } from "../http/session-identity.js";
import { UNTOUCHED } from "./in-order.js";
import { JSON_GUARD } from "./json-guard.js";
import { newNonce } from "./nonce.js";
import type { StoredLogin } from "./record.js";

/**
 * What the store knows of a session object, beside the data in it. It travels under a symbol, non-enumerable, so that
 * express-session neither hashes nor copies nor stores it. `Symbol.for`: the ESM and the CommonJS copy of the library see
 * the same.
 */
export interface SessionBinding {
  /** The session ID it belongs to; under any other the object counts as foreign. */
  readonly sid: string | undefined;
  /**
   * `new`: never stored. `loaded`: was read or has been stored. `foreign`: data of unknown origin, which may update a
   * record in place but log nobody in.
   */
  kind: "new" | "loaded" | "foreign";
  /** The head the record must still have when this object is saved; empty for a new session. */
  head: string;
  /** True while `head` is a whole bare record (`user,generation`). */
  bare: boolean;
  login: StoredLogin | undefined;
  /** The payload this object was loaded with or last saved; `undefined` if none. */
  payload: string | undefined;
  /** The user the data itself names, by the `userId` option, as of `payload`. */
  dataUser: string | undefined;
  /** See `nonceOf`. */
  nonce: string | undefined;
  /** When it was read, as `RetiredSessions` counts. */
  readonly readAt: number;
  /** Ends when all saves of this object so far have. */
  tail: Promise<unknown>;
}

export function bindingOf(target: object): SessionBinding | undefined {
  return (target as { readonly [SESSION_BINDING]?: SessionBinding })[SESSION_BINDING] ?? DataBinding.of(target);
}

/** Hands back the object it is given, so that a subclass adds its private field to that object. */
class Adopt {
  constructor(target: object) {
    // biome-ignore lint/correctness/noConstructorReturn: the point of the class
    return target;
  }
}

/**
 * Ties a binding to plain session data, as `get` returns it, by a private field: it is on the object and yet invisible to all
 * but this module, and it costs a tenth of what defining a hidden property does, on every read.
 */
class DataBinding extends Adopt {
  readonly #binding: SessionBinding;

  constructor(data: object, binding: SessionBinding) {
    super(data);
    this.#binding = binding;
  }

  static of(data: object): SessionBinding | undefined {
    return #binding in data ? data.#binding : undefined;
  }
}

export function bindData(data: object, binding: SessionBinding): void {
  new DataBinding(data, binding);
}

/** Shows the binding of plain data to the library's other copy (ESM, CommonJS) too. */
export function shareBinding(data: object): void {
  Object.defineProperty(data, SESSION_BINDING, { value: bindingOf(data), configurable: true });
}

/** Ties a binding to a Session and guards it against data that would make express-session hang. */
export function bindSession(session: object, binding: SessionBinding): void {
  Object.defineProperty(session, SESSION_BINDING, { value: binding, configurable: true });
  Object.defineProperty(session, "toJSON", JSON_GUARD);
}

/** Of a session that has never been stored. */
export function newBinding(sid: string | undefined): SessionBinding {
  return {
    sid,
    kind: "new",
    head: "",
    bare: false,
    login: undefined,
    payload: undefined,
    dataUser: undefined,
    nonce: undefined,
    readAt: 0,
    tail: UNTOUCHED,
  };
}

/** Of data whose origin is unknown: made by hand, cloned, or another session's. */
export function foreignBinding(): SessionBinding {
  return { ...newBinding(undefined), kind: "foreign" };
}

/**
 * Part of a new session's head, made once, so that a repeated insert is recognised as our own. Made on first use: random
 * bytes for every session that is only read would cost more than the read itself.
 */
export function nonceOf(binding: SessionBinding): string {
  binding.nonce ??= newNonce();
  return binding.nonce;
}

/** True if a save of this session was at least tried: there may be a record, whatever the answer was. */
export function mayBeStored(binding: SessionBinding): boolean {
  return binding.kind !== "new" || binding.tail !== UNTOUCHED;
}
