/** What the store promises, for one thing after the other: no Redis, no scripts, no heads in text. */

interface Record {
  /** Differs for each login, move and new session: what a save compares. */
  readonly head: number;
  /** `""` when anonymous. */
  readonly user: string;
  /** Which of the user's generations it was made under. */
  readonly era: number;
  readonly madeAtMs: number;
  value: string;
}

/** A request in flight: the session as it was when it arrived. */
export interface Flight {
  /** The process that handles it: what one process ends or finds ended, only its own requests know. */
  readonly process: number;
  readonly sid: string;
  readonly record: Record;
  value: string;
  /** Its session ID was ended, or found ended, by this process since. */
  isRetired: boolean;
}

export interface Attempt {
  readonly user: string;
  readonly era: number;
}

export class SessionModel {
  readonly #records = new Map<string, Record>();
  /** Each user's present era; none when the counter is missing. */
  readonly #eras = new Map<string, number>();
  readonly #flights = new Set<Flight>();
  readonly #absoluteTtlMs: number;
  #numbers = 0;
  /** How far the application's clock is ahead of Redis'. */
  clockLeadMs = 0;

  constructor(absoluteTtlMs: number) {
    this.#absoluteTtlMs = absoluteTtlMs;
  }

  /** What a read sees; it retires an ID that it finds logged out, except while there is no counter to tell by. */
  read(sid: string, process: number): { user: string; value: string } | null {
    const record = this.#records.get(sid);
    if (record === undefined) return null;
    if (record.user !== "") {
      const era = this.#eras.get(record.user);
      if (era === undefined) return null;
      if (era !== record.era) {
        this.#retire(sid, process);
        return null;
      }
      if (this.#isOver(record)) return null;
    }
    return { user: record.user, value: record.value };
  }

  arrive(sid: string, process: number): Flight | undefined {
    const seen = this.read(sid, process);
    const record = this.#records.get(sid);
    if (seen === null || record === undefined) return undefined;
    const flight = { process, sid, record, value: seen.value, isRetired: false };
    this.#flights.add(flight);
    return flight;
  }

  leave(flight: Flight): void {
    this.#flights.delete(flight);
  }

  hasCounter(user: string): boolean {
    return this.#eras.has(user);
  }

  begin(user: string): Attempt {
    const era = this.#eras.get(user) ?? this.newEra(user);
    return { user, era };
  }

  newEra(user: string): number {
    this.#numbers += 1;
    this.#eras.set(user, this.#numbers);
    return this.#numbers;
  }

  loseCounter(user: string): void {
    this.#eras.delete(user);
  }

  canLogin({ user, era }: Attempt): boolean {
    return this.#eras.get(user) === era;
  }

  login(attempt: Attempt, sid: string, old: Flight | undefined, keepsData: boolean): void {
    if (old !== undefined) this.end(old.sid, old.process);
    this.#insert(sid, attempt, keepsData ? (old?.value ?? "") : "", this.#redisNowMs());
  }

  visit(sid: string, value: string): void {
    this.#insert(sid, { user: "", era: 0 }, value, this.#redisNowMs());
  }

  save(flight: Flight, value: string): void {
    flight.value = value;
    const record = this.#records.get(flight.sid);
    if (record?.head === flight.record.head) record.value = value;
  }

  /** Data put in place by hand, under any ID. */
  overwrite(sid: string, value: string): void {
    const record = this.#records.get(sid);
    if (record === undefined) this.visit(sid, value);
    else record.value = value;
  }

  canMove({ sid, record, isRetired }: Flight): boolean {
    return !isRetired && this.#records.get(sid)?.head === record.head;
  }

  /** Whether `logoutOthers` gets as far as logging out the others. */
  canLogOutOthers({ record, isRetired }: Flight): boolean {
    return !isRetired && this.#eras.get(record.user) === record.era;
  }

  move(flight: Flight, sid: string, era: number = flight.record.era): void {
    const { user, madeAtMs } = flight.record;
    this.end(flight.sid, flight.process);
    this.#insert(sid, { user, era }, flight.value, madeAtMs);
    // A login that has reached its absolute end gets no new life.
    const moved = this.#records.get(sid);
    if (moved !== undefined && this.#isOver(moved)) this.#records.delete(sid);
  }

  end(sid: string, process: number): void {
    this.#records.delete(sid);
    this.#retire(sid, process);
  }

  isCurrent({ process, sid, record, isRetired }: Flight): boolean {
    if (record.user === "" || isRetired) return false;
    return this.read(sid, process) !== null && this.#records.get(sid)?.head === record.head;
  }

  #insert(sid: string, { user, era }: Attempt, value: string, madeAtMs: number): void {
    this.#numbers += 1;
    this.#records.set(sid, { head: this.#numbers, user, era, value, madeAtMs });
  }

  #retire(sid: string, process: number): void {
    for (const flight of this.#flights) {
      if (flight.sid === sid && flight.process === process) flight.isRetired = true;
    }
  }

  #isOver({ user, madeAtMs }: Record): boolean {
    return user !== "" && madeAtMs + this.#absoluteTtlMs <= this.#redisNowMs() + this.clockLeadMs;
  }

  #redisNowMs(): number {
    return performance.timeOrigin + performance.now();
  }
}
