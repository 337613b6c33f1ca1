import { type Origin, originsOf } from "./lineage.js";
import type {
  Ending,
  Everywhere,
  Exchange,
  Login,
  Operation,
  PasswordChange,
  Read,
  Save,
  Span,
  Visit,
} from "./operations.js";

/** What may end all of a user's sessions, or all but one. */
export type UserEnding = Everywhere | Exchange;
/** What ends one session ID. */
export type SidEnding = Ending | Exchange | Login;
/** What puts data into a session. */
export type Write = Save | Visit;

/** All that happened to one user, or to one session ID, in the order in which it began. */
export class Line<T extends Operation> {
  readonly all: readonly T[];
  /** The latest time at which any of the first n + 1 can have had its effect. */
  readonly #latest: number[] = [];
  readonly #endOf: (operation: Operation) => number;

  constructor(operations: readonly T[], endOf: (operation: Operation) => number) {
    this.all = operations.toSorted((a, b) => a.from - b.from);
    this.#endOf = endOf;
    let latest = 0;
    for (const operation of this.all) {
      latest = Math.max(latest, endOf(operation));
      this.#latest.push(latest);
    }
  }

  /** One that may have had its effect within the span. */
  someWithin({ from, to }: Span, isMeant: (operation: T) => boolean): T | undefined {
    for (let index = this.#firstFrom(to) - 1; index >= 0 && (this.#latest[index] ?? 0) >= from; index -= 1) {
      const operation = this.all[index];
      if (operation !== undefined && this.#endOf(operation) >= from && isMeant(operation)) return operation;
    }
    return undefined;
  }

  /** One that succeeded, began after `from` and ended before `to`. */
  someDone({ from, to }: Span, isMeant: (operation: T) => boolean = () => true): T | undefined {
    for (let index = this.#firstFrom(from); index < this.all.length; index += 1) {
      const operation = this.all[index];
      if (operation === undefined || operation.from >= to) return undefined;
      if (operation.from > from && operation.to < to && operation.outcome === "ok" && isMeant(operation))
        return operation;
    }
    return undefined;
  }

  #firstFrom(time: number): number {
    let low = 0;
    let high = this.all.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.all[middle]?.from ?? 0) < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** A history, sorted by what it is about. */
export class Timeline {
  readonly operations: readonly Operation[];
  readonly origins: ReadonlyMap<string, Origin>;
  readonly reads: readonly Read[];
  readonly #lateUs: number;
  readonly #forced = new Set<string>();
  readonly #ofUser = new Map<string, Line<UserEnding>>();
  readonly #ofSid = new Map<string, Line<SidEnding>>();
  readonly #writesTo = new Map<string, Line<Write>>();
  readonly #passwordsOf = new Map<string, readonly PasswordChange[]>();
  readonly writeOf = new Map<string, Write>();

  /** An operation that failed may still have its effect up to `lateUs` after its caller was told. */
  constructor(operations: readonly Operation[], lateUs: number) {
    this.operations = operations;
    this.#lateUs = lateUs;
    this.origins = originsOf(operations);
    this.reads = operations.filter((operation) => operation.kind === "read");
    const byUser = new Map<string, UserEnding[]>();
    const bySid = new Map<string, SidEnding[]>();
    const writes = new Map<string, Write[]>();
    const passwords = new Map<string, PasswordChange[]>();
    for (const operation of operations) {
      if (endsUser(operation)) push(byUser, operation.user, operation);
      if (endsSid(operation) && operation.sid !== undefined) push(bySid, operation.sid, operation);
      if (operation.kind === "password") push(passwords, operation.user, operation);
      if (operation.kind === "visit" && operation.isForced === true) this.#forced.add(operation.created);
      else if (operation.kind === "save" || operation.kind === "visit") {
        this.writeOf.set(operation.value, operation);
        push(writes, sidOfWrite(operation), operation);
      }
    }
    const endOf = (operation: Operation): number => this.endOf(operation);
    for (const [user, list] of byUser) this.#ofUser.set(user, new Line(list, endOf));
    for (const [sid, list] of bySid) this.#ofSid.set(sid, new Line(list, endOf));
    for (const [sid, list] of writes) this.#writesTo.set(sid, new Line(list, endOf));
    for (const [user, list] of passwords) this.#passwordsOf.set(user, list);
  }

  /** The latest time at which an operation can have had its effect. */
  endOf({ outcome, to }: Operation): number {
    return outcome === "unknown" ? to + this.#lateUs : to;
  }

  userEndings(user: string): Line<UserEnding> {
    return this.#ofUser.get(user) ?? new Line<UserEnding>([], () => 0);
  }

  sidEndings(sid: string): Line<SidEnding> {
    return this.#ofSid.get(sid) ?? new Line<SidEnding>([], () => 0);
  }

  writesTo(sid: string): Line<Write> {
    return this.#writesTo.get(sid) ?? new Line<Write>([], () => 0);
  }

  passwordChanges(user: string): readonly PasswordChange[] {
    return this.#passwordsOf.get(user) ?? [];
  }

  /** True if visits were given this ID although it was in use. */
  isForced(sid: string): boolean {
    return this.#forced.has(sid);
  }

  /** What may have ended this session by the end of the span, other than `except`; what certainly had no effect does not count. */
  causeOfEnd(origin: Origin, to: number, except?: Operation): Operation | undefined {
    const own: ReadonlySet<Operation> = new Set(origin.path);
    const ofSid = this.sidEndings(origin.sid).someWithin(
      { from: origin.birth.from, to },
      (operation) => operation !== except && mayEndItsSid(operation),
    );
    if (ofSid !== undefined || origin.user === "") return ofSid;
    return this.userEndings(origin.user).someWithin(
      { from: stampedFrom(origin), to },
      (operation) => operation !== except && !own.has(operation) && mayEndOthers(operation),
    );
  }
}

/** Since when a logout of the user ends this session. */
function stampedFrom({ path, birth }: Origin): number {
  const stamped = path.findLast(({ kind }) => kind !== "rotate") ?? birth;
  return stamped.kind === "login" ? stamped.begun.from : stamped.from;
}

/** An exchange or login that was refused left its session where it was. */
function mayEndItsSid({ outcome }: SidEnding): boolean {
  return outcome === "ok" || outcome === "unknown";
}

/** `logoutOthers` that was refused may have been so after it had logged out the others. */
export function mayEndOthers({ kind, outcome }: UserEnding): boolean {
  return outcome === "ok" || outcome === "unknown" || (kind === "others" && outcome === "refused");
}

function endsUser(operation: Operation): operation is UserEnding {
  return operation.kind === "everywhere" || operation.kind === "incr" || operation.kind === "others";
}

function endsSid(operation: Operation): operation is SidEnding {
  return ["destroy", "regenerate", "rotate", "others", "login"].includes(operation.kind);
}

function sidOfWrite(write: Write): string {
  return write.kind === "visit" ? write.created : write.sid;
}

function push<T>(lists: Map<string, T[]>, name: string, item: T): void {
  const list = lists.get(name);
  if (list === undefined) lists.set(name, [item]);
  else list.push(item);
}
