import type { LogoutOptions } from "../../src/index.js";
import type { TestApp } from "./app.js";
import type { Browser, Page } from "./browser.js";

/** What requests met while servers failed over. */
export interface TrafficReport {
  readonly requests: number;
  /** Requests that were answered 503 with a code. */
  readonly failed: number;
  /** Answers that are neither right nor a coded 503. */
  readonly unexpected: readonly string[];
  /** Logouts that were confirmed. */
  readonly logouts: number;
  /** Reads of logged-out sessions that returned a user. */
  readonly violations: number;
  /** The longest time after a confirmed logout at which such a read began: counts what was lost as well as how long it stayed so. */
  readonly longestWindowMs: number;
  /** From the first to the last of them: how long it took until what was lost had been applied again. */
  readonly exposedMs: number;
  /** From `failsNow` to the end of the last request that failed. */
  readonly recoveryMs: number;
  /** Sessions that were gone though nobody had ended them: a failover lost the write. */
  readonly lost: number;
}

interface Ended {
  readonly device: Browser;
  readonly atMs: number;
}

/** How long a logged-out cookie is tried again. */
const WATCHED_MS = 6_000;

const WORKERS = 6;

/** People who sign in, read, save and log out everywhere while servers fail over, and thieves who try the old cookies. */
export class Traffic {
  readonly #app: Pick<TestApp, "browser" | "store">;
  readonly #logout: LogoutOptions;
  readonly #ended: Ended[] = [];
  readonly #unexpected: string[] = [];
  readonly #running: Promise<void>[] = [];
  #isOn = true;
  #counts = { requests: 0, failed: 0, logouts: 0, violations: 0, lost: 0 };
  #longestWindowMs = 0;
  #firstViolationMs = 0;
  #lastViolationMs = 0;
  #failsAtMs = 0;
  #lastFailureMs = 0;

  constructor(app: Pick<TestApp, "browser" | "store">, logout: LogoutOptions = {}) {
    this.#app = app;
    this.#logout = logout;
    for (let worker = 0; worker < WORKERS; worker += 1) this.#running.push(this.#live(worker));
    this.#running.push(this.#steal());
  }

  /** The failure begins now. */
  failsNow(): void {
    this.#failsAtMs = performance.now();
  }

  /** Resolves once so many more requests have been answered well. */
  async flows(answers = 100): Promise<void> {
    const { requests, failed } = this.#counts;
    const good = requests - failed + answers;
    while (this.#counts.requests - this.#counts.failed < good) await turn();
  }

  async stop(): Promise<TrafficReport> {
    this.#isOn = false;
    await Promise.all(this.#running);
    return {
      ...this.#counts,
      unexpected: this.#unexpected,
      longestWindowMs: Math.round(this.#longestWindowMs),
      exposedMs: Math.round(this.#lastViolationMs - this.#firstViolationMs),
      recoveryMs: Math.max(0, Math.round(this.#lastFailureMs - this.#failsAtMs)),
    };
  }

  async #live(worker: number): Promise<void> {
    for (let n = 0; this.#isOn; n += 1) {
      const user = `traffic-${worker}-${n}`;
      const device = this.#app.browser();
      if ((await this.#request("login", device.post(`/login/${user}`))) === undefined) continue;
      for (const what of ["read", "save", "read"]) {
        const page = await this.#request(what, what === "save" ? device.post("/set/a/1") : device.get("/me"));
        if (page === undefined || what === "save") continue;
        const found = page.json()["user"];
        if (found === null) this.#counts.lost += 1;
        else if (found !== user) this.#unexpected.push("a read returned another user");
      }
      await this.#end(user, device);
    }
  }

  async #end(user: string, device: Browser): Promise<void> {
    try {
      await this.#app.store.logoutEverywhere(user, this.#logout);
      this.#counts.logouts += 1;
      this.#ended.push({ device, atMs: performance.now() });
    } catch (error) {
      const { status, code } = error as { status?: number; code?: string };
      if (status !== 503 || code !== "ERR_LOGOUT_UNCONFIRMED") this.#unexpected.push(`logout failed with ${code}`);
    }
  }

  /** Tries the cookies of those who are logged out. */
  async #steal(): Promise<void> {
    while (this.#isOn) {
      while (performance.now() - (this.#ended[0]?.atMs ?? Number.POSITIVE_INFINITY) > WATCHED_MS) this.#ended.shift();
      const tried = this.#ended.length < 20 ? [...this.#ended] : pick(this.#ended, 20);
      await Promise.all(tried.map((ended) => this.#try(ended)));
      await turn();
    }
  }

  async #try({ device, atMs }: Ended): Promise<void> {
    const beganAtMs = performance.now();
    const page = await this.#request("old cookie", device.clone().get("/me"));
    if (page === undefined || page.json()["user"] === null) return;
    this.#counts.violations += 1;
    this.#lastViolationMs = performance.now();
    if (this.#counts.violations === 1) this.#firstViolationMs = beganAtMs;
    this.#longestWindowMs = Math.max(this.#longestWindowMs, beganAtMs - atMs);
  }

  /** The page, unless it failed. */
  async #request(what: string, asked: Promise<Page>): Promise<Page | undefined> {
    const page = await asked;
    this.#counts.requests += 1;
    if (page.status === 200) return page;
    const code = String(page.json()["code"]);
    // A login that a failover made uncertain may find its user's number raised, or lost, meanwhile.
    const isExpected = page.status === 503 || (page.status === 409 && what === "login");
    if (!isExpected || code === "undefined") this.#unexpected.push(`${what} answered ${page.status} ${code}`);
    if (page.setCookies.length > 0) this.#unexpected.push(`${what} failed and set a cookie`);
    this.#counts.failed += 1;
    this.#lastFailureMs = performance.now();
    return undefined;
  }
}

function pick<T>(items: readonly T[], count: number): T[] {
  return Array.from({ length: count }, () => items[Math.floor(Math.random() * items.length)]).filter(
    (item) => item !== undefined,
  );
}

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}

/** What requests met before, during and after a failover. Closes the application's store. */
export async function trafficDuring(
  failOver: () => Promise<unknown>,
  app: Pick<TestApp, "browser" | "store">,
  logout: LogoutOptions,
): Promise<TrafficReport> {
  const traffic = new Traffic(app, logout);
  await traffic.flows();
  traffic.failsNow();
  await failOver();
  await traffic.flows();
  const report = await traffic.stop();
  await app.store.close();
  return report;
}

/** One line that says what happened. */
export function summary(kind: string, report: TrafficReport): string {
  const { requests, failed, logouts, violations, longestWindowMs, exposedMs, recoveryMs, lost } = report;
  const share = ((100 * failed) / requests).toFixed(1);
  return (
    `${kind}: ${failed} of ${requests} requests failed (${share} %), recovered after ${(recoveryMs / 1_000).toFixed(1)} s; ` +
    `${violations} violations after ${logouts} logouts, within ${exposedMs} ms, longest window ${longestWindowMs} ms; ${lost} sessions lost`
  );
}
