import type { Exchange, Login, Operation, Visit } from "./operations.js";

/** How a session ID came to be: by a visit, a login, or by moving another session. */
export type Birth = Visit | Login | Exchange;

/** A session ID that was given out, and where it comes from. */
export interface Origin {
  readonly sid: string;
  readonly birth: Birth;
  /** The births it descends from, the first visit or login first, its own last. */
  readonly path: readonly Birth[];
  /** The session IDs before it whose data it may have: of what it was moved from, or of what its login kept. */
  readonly dataFrom: ReadonlySet<string>;
  /** The login it stems from; `undefined` for an anonymous session. */
  readonly login: Login | undefined;
  readonly user: string;
  /** The generation it must be read under; `""` for an anonymous session. */
  readonly generation: string;
}

/** The origin of each session ID that an operation reported as created. Duplicates: the first counts. */
export function originsOf(operations: readonly Operation[]): Map<string, Origin> {
  const births = new Map<string, Birth>();
  for (const operation of operations) {
    if (!isBirth(operation) || operation.created === undefined || births.has(operation.created)) continue;
    births.set(operation.created, operation);
  }
  const origins = new Map<string, Origin>();
  for (const sid of births.keys()) resolve(sid, births, origins);
  return origins;
}

export function isBirth(operation: Operation): operation is Birth {
  const { kind, outcome } = operation;
  if (kind === "visit" && operation.isForced === true) return false;
  return outcome === "ok" && (kind === "visit" || kind === "login" || kind === "rotate" || kind === "others");
}

function resolve(sid: string, births: ReadonlyMap<string, Birth>, origins: Map<string, Origin>): Origin | undefined {
  // Not by recursion: a session that is moved again and again has a long line of ancestors.
  const line: string[] = [];
  let at: string | undefined = sid;
  while (at !== undefined && !origins.has(at) && births.has(at) && !line.includes(at)) {
    line.push(at);
    const birth: Birth | undefined = births.get(at);
    at = birth?.kind === "visit" ? undefined : birth?.sid;
  }
  for (const next of line.reverse()) {
    const birth = births.get(next);
    if (birth !== undefined) origins.set(next, originOf(next, birth, origins));
  }
  return origins.get(sid);
}

function originOf(sid: string, birth: Birth, origins: ReadonlyMap<string, Origin>): Origin {
  if (birth.kind === "visit") {
    return { sid, birth, path: [birth], dataFrom: new Set(), login: undefined, user: "", generation: "" };
  }
  const parent = birth.sid === undefined ? undefined : origins.get(birth.sid);
  const dataFrom = new Set(birth.sid === undefined ? [] : [...(parent?.dataFrom ?? []), birth.sid]);
  if (birth.kind === "login") {
    return { sid, birth, path: [birth], dataFrom, login: birth, user: birth.user, generation: birth.generation };
  }
  return {
    sid,
    birth,
    dataFrom,
    path: [...(parent?.path ?? []), birth],
    login: parent?.login,
    user: parent?.user ?? birth.user,
    generation: birth.kind === "others" ? (birth.generation ?? "") : (parent?.generation ?? ""),
  };
}
