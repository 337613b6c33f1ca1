import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startRedis } from "../support/redis-server.js";
import { bundle } from "./bundle.js";
import { checkHistory } from "./checker.js";
import { MUTATIONS } from "./mutations.js";
import type { Operation, Violation } from "./operations.js";
import { clusterPlace, serverPlace } from "./places.js";
import type { Address, FromWorker, ToWorker, WorkerSettings } from "./worker.js";
import { sleep } from "./world.js";

export interface HistoryOptions {
  readonly seconds: number;
  readonly processes: number;
  /** Concurrent clients of each process. */
  readonly clients: number;
  readonly users: number;
  readonly seed: number;
  readonly commandTimeoutMs: number;
  /** Between two faults. */
  readonly pauseMs: readonly [from: number, to: number];
  /** On one server that fails, or on a cluster whose primaries and slots change places. */
  readonly topology: "server" | "cluster";
  /** Breaks a rule of the code on purpose. */
  readonly mutation?: string | undefined;
}

export const DEFAULTS: HistoryOptions = {
  seconds: 8,
  processes: 3,
  clients: 16,
  users: 24,
  seed: 1,
  commandTimeoutMs: 400,
  pauseMs: [100, 500],
  topology: "server",
};

export interface HistoryResult {
  readonly operations: readonly Operation[];
  readonly faults: Readonly<Record<string, number>>;
  readonly violations: readonly Violation[];
}

/** Long enough for the last operations to end, whatever has just been done to the server. */
const STOP_TIMEOUT_MS = 20_000;
const START_TIMEOUT_MS = 30_000;

/** Runs clients in several processes against a Redis that never loses what it has acknowledged, while faults happen to it, and checks what they saw. */
export async function runHistory(
  asked: Partial<HistoryOptions>,
  interrupted: AbortSignal = new AbortController().signal,
): Promise<HistoryResult> {
  const options: HistoryOptions = { ...DEFAULTS, ...asked };
  const folder = mkdtempSync(join(tmpdir(), "logout-everywhere-history-"));
  const disposals: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  try {
    const program = await bundle("worker", options.mutation === undefined ? undefined : MUTATIONS[options.mutation]);
    disposals.push(() => program.dispose());
    const users = userIds(options);
    const place = await (options.topology === "cluster" ? clusterPlace(options, users) : serverPlace(options));
    disposals.push(() => place.dispose());
    const { faults } = place;
    const usersServer = await startRedis();
    disposals.push(() => usersServer.dispose());
    const settings = place.addresses.map((address, index) =>
      workerSettings(options, { users, folder, usersPort: usersServer.port }, address, index),
    );
    const workers = settings.map((each) => new Worker(program.file, each));
    disposals.push(() => workers.map((worker) => worker.kill()));
    await within(START_TIMEOUT_MS, Promise.all(workers.map((worker) => worker.ready)));
    disposals.push(() => faults.stop());
    faults.start();
    await Promise.race([sleep(options.seconds * 1_000), aborted(interrupted), ...workers.map(({ failed }) => failed)]);
    await faults.stop();
    for (const worker of workers) worker.stop();
    await within(STOP_TIMEOUT_MS, Promise.all(workers.map((worker) => worker.done)));
    const operations = settings.flatMap(({ file }) => readOperations(file));
    return { operations, faults: faults.counts, violations: checkHistory(operations, lateUs(options)) };
  } finally {
    for (const dispose of disposals.reverse()) await dispose();
  }
}

/** Rejects when the signal fires: what was started is then ended as after any failure. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const fail = (): void => reject(new Error("interrupted"));
    if (signal.aborted) fail();
    else signal.addEventListener("abort", fail, { once: true });
  });
}

/** What arrives later than this after a failure is refused by the scripts themselves: a deadline, and the clocks' difference. */
function lateUs({ commandTimeoutMs }: HistoryOptions): number {
  return (commandTimeoutMs + 100) * 1_000;
}

/** Some with a comma in their IDs: they look like others' heads. */
function userIds({ users }: HistoryOptions): string[] {
  return Array.from({ length: users }, (_, user) => (user % 4 === 3 ? `u${user - 1},${user}` : `u${user}`));
}

function workerSettings(
  { clients, seed, commandTimeoutMs }: HistoryOptions,
  {
    users,
    folder,
    usersPort,
  }: { readonly users: readonly string[]; readonly folder: string; readonly usersPort: number },
  address: Address,
  index: number,
): WorkerSettings {
  return {
    process: index,
    clients,
    users,
    seed,
    address,
    usersPort,
    file: join(folder, `${index}.jsonl`),
    ioredis: index % 3 === 2 ? 6 : 5,
    autoResendUnfulfilledCommands: index % 2 === 0,
    commandTimeoutMs,
  };
}

/** A worker process, from outside. */
class Worker {
  readonly ready: Promise<void>;
  readonly done: Promise<void>;
  /** Rejects when the process has failed; never resolves. */
  readonly failed: Promise<never>;
  readonly #child: ChildProcess;

  constructor(file: string, settings: WorkerSettings) {
    this.#child = fork(file, [JSON.stringify(settings)]);
    this.failed = new Promise<never>((_, reject) => {
      this.#child.on("message", (message: FromWorker) => {
        if ("failed" in message) reject(new Error(`a process of the history failed: ${message.failed}`));
      });
      this.#child.once("error", reject);
      this.#child.once("exit", (code, signal) =>
        reject(new Error(`a process of the history ended: ${code ?? signal}`)),
      );
    });
    this.failed.catch(() => undefined);
    this.ready = Promise.race([this.#heard("ready"), this.failed]);
    this.done = Promise.race([this.#heard("done"), this.failed]);
    this.done.catch(() => undefined);
  }

  stop(): void {
    this.#child.send("stop" satisfies ToWorker);
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await gone;
  }

  #heard(name: "ready" | "done"): Promise<void> {
    return new Promise((resolve) => {
      this.#child.on("message", (message: FromWorker) => {
        if (name in message) resolve();
      });
    });
  }
}

function readOperations(file: string): Operation[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Operation);
}

async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the history's processes did not answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
