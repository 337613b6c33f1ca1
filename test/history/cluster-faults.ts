import type { ClusterNode, TestCluster } from "../support/redis-cluster.js";
import type { Random } from "./random.js";
import { sleep } from "./world.js";

/** What happens to a cluster that loses nothing it has acknowledged. */
export const CLUSTER_FAULT_NAMES = ["handOver", "moveSlot", "scriptFlush", "pause"] as const;

type ClusterFaultName = (typeof CLUSTER_FAULT_NAMES)[number];

export interface ClusterFaultOptions {
  readonly cluster: TestCluster;
  readonly random: Random;
  /** Users whose generations' slots are moved. */
  readonly users: readonly string[];
  readonly pauseMs: readonly [from: number, to: number];
}

/** Hands primaries over to their replicas and moves slots until it is stopped, and counts how often. */
export class ClusterFaults {
  readonly counts: Record<ClusterFaultName, number> = { handOver: 0, moveSlot: 0, scriptFlush: 0, pause: 0 };
  readonly #options: ClusterFaultOptions;
  #isStopped = false;
  #running: Promise<void> = Promise.resolve();

  constructor(options: ClusterFaultOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
    this.#running.catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    const { random, pauseMs } = this.#options;
    while (!this.#isStopped) {
      await sleep(random.between(...pauseMs));
      const fault = random.pick(CLUSTER_FAULT_NAMES) ?? "handOver";
      await this.#inject(fault);
      this.counts[fault] += 1;
    }
  }

  async #inject(fault: ClusterFaultName): Promise<void> {
    const { cluster, random } = this.#options;
    switch (fault) {
      case "handOver":
        return await cluster.handOver(await this.#somePrimary());
      case "moveSlot":
        return await this.#moveSlot();
      case "scriptFlush":
        await (await this.#somePrimary()).root.script("FLUSH");
        return;
      case "pause":
        return await this.#pause(random.between(10, 300));
    }
  }

  /** Waits for its end: a hand-over pauses writes too, and is given up when it finds the primary paused. */
  async #pause(forMs: number): Promise<void> {
    await (await this.#somePrimary()).root.call("CLIENT", "PAUSE", String(forMs), "ALL");
    await sleep(forMs);
  }

  async #moveSlot(): Promise<void> {
    const { cluster, random, users } = this.#options;
    const move = await cluster.beginMove(`user_login_age:${random.pick(users)}`);
    await sleep(random.between(0, 100));
    await move.moveKeys();
    await sleep(random.between(0, 100));
    await move.finish();
    await cluster.settled();
  }

  async #somePrimary(): Promise<ClusterNode> {
    const { cluster, random } = this.#options;
    const primary = random.pick(await cluster.primaries());
    if (primary === undefined) throw new Error("the cluster has no primary");
    return primary;
  }
}
