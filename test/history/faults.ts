import { Redis } from "ioredis";
import type { Script } from "../../src/redis/script.js";
import { confirmGeneration } from "../../src/session/scripts/confirm-generation.js";
import { endRecord } from "../../src/session/scripts/end-record.js";
import { ensureGeneration } from "../../src/session/scripts/ensure-generation.js";
import { insertRecord } from "../../src/session/scripts/insert-record.js";
import { raiseGeneration } from "../../src/session/scripts/raise-generation.js";
import { saveRecords } from "../../src/session/scripts/save-records.js";
import { takeRecord } from "../../src/session/scripts/take-record.js";
import { updateRecord } from "../../src/session/scripts/update-record.js";
import { runs } from "../support/commands.js";
import type { RedisServer } from "../support/redis-server.js";
import type { CommandTest, TcpProxy } from "../support/tcp-proxy.js";
import type { Random } from "./random.js";
import { sleep } from "./world.js";

const SCRIPTS: readonly Script<unknown>[] = [
  confirmGeneration,
  endRecord,
  ensureGeneration,
  insertRecord,
  raiseGeneration,
  saveRecords,
  takeRecord,
  updateRecord,
];

/** How often each fault happens in one round of them, the order being random. */
const ROUND = { cutBefore: 4, cutAfter: 6, delay: 4, drop: 3, scriptFlush: 1, pause: 2, kill: 1 } as const;

export type FaultName = keyof typeof ROUND;
export const FAULT_NAMES: readonly string[] = Object.keys(ROUND);

export interface FaultOptions {
  readonly server: RedisServer;
  readonly proxies: readonly TcpProxy[];
  readonly random: Random;
  /** Longer than this nobody waits for Redis. */
  readonly commandTimeoutMs: number;
  readonly pauseMs: readonly [from: number, to: number];
}

/** Makes one fault after the other happen until it is stopped, and counts them. */
export class Faults {
  readonly counts: Record<FaultName, number> = {
    ...{ cutBefore: 0, cutAfter: 0, delay: 0, drop: 0, scriptFlush: 0, pause: 0, kill: 0 },
  };
  readonly #options: FaultOptions;
  readonly #admin: Redis;
  readonly #round: FaultName[] = [];
  #isStopped = false;
  #running: Promise<void> = Promise.resolve();

  constructor(options: FaultOptions) {
    this.#options = options;
    this.#admin = new Redis(options.server.port, "127.0.0.1", { enableOfflineQueue: false, retryStrategy: () => 20 });
    this.#admin.on("error", () => undefined);
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    try {
      await this.#running;
    } finally {
      this.#admin.disconnect();
      for (const proxy of this.#options.proxies) proxy.release();
    }
  }

  async #run(): Promise<void> {
    const { random, pauseMs } = this.#options;
    while (!this.#isStopped) {
      await sleep(random.between(...pauseMs));
      await this.#inject(this.#next());
    }
  }

  #next(): FaultName {
    if (this.#round.length === 0) {
      for (const [name, times] of Object.entries(ROUND))
        this.#round.push(...Array<FaultName>(times).fill(name as FaultName));
    }
    const index = this.#options.random.between(0, this.#round.length - 1);
    const [fault = "cutAfter"] = this.#round.splice(index, 1);
    return fault;
  }

  async #inject(fault: FaultName): Promise<void> {
    const { random, proxies, server, commandTimeoutMs } = this.#options;
    const proxy = random.pick(proxies);
    if (proxy === undefined) throw new Error("no proxy");
    const command = this.#someCommand();
    switch (fault) {
      case "cutBefore":
      case "cutAfter":
        this.#count(fault, proxy[fault](command));
        return;
      case "delay":
        this.#count(fault, proxy.hold(command));
        await sleep(random.between(5, commandTimeoutMs * 1.5));
        proxy.release();
        return;
      case "drop":
        // Replies are held back, then the line is cut with them.
        this.#count(fault, proxy.hold(command));
        await sleep(random.between(5, commandTimeoutMs));
        await Promise.race([proxy.cutBefore(() => true), sleep(100)]);
        proxy.release();
        return;
      case "scriptFlush":
        this.#count(fault, this.#admin.script("FLUSH"));
        return;
      case "pause":
        this.#count(
          fault,
          this.#admin.call("CLIENT", "PAUSE", String(random.between(10, commandTimeoutMs * 1.5)), "ALL"),
        );
        return;
      case "kill":
        await server.stop("SIGKILL");
        await sleep(random.between(0, 300));
        await server.start();
        this.counts.kill += 1;
    }
  }

  /** A fault counts once it has happened. */
  #count(fault: FaultName, happened: Promise<unknown>): void {
    happened.then(
      () => {
        this.counts[fault] += 1;
      },
      () => undefined,
    );
  }

  /** The next command of some kind, or any; the first few are let pass. */
  #someCommand(): CommandTest {
    const { random } = this.#options;
    let left = random.between(0, 3);
    const script = random.chance(0.7) ? random.pick(SCRIPTS) : undefined;
    const isMeant = script === undefined ? () => true : runs(script);
    return (words) => {
      if (!isMeant(words)) return false;
      left -= 1;
      return left < 0;
    };
  }
}
