import { startCluster } from "../support/redis-cluster.js";
import { startRedis } from "../support/redis-server.js";
import { TcpProxy } from "../support/tcp-proxy.js";
import { ClusterFaults } from "./cluster-faults.js";
import { Faults } from "./faults.js";
import { Random } from "./random.js";
import type { HistoryOptions } from "./runner.js";
import type { Address } from "./worker.js";

/** Redis, as the processes of a history reach it, and what happens to it. */
export interface Place {
  /** For each process. */
  readonly addresses: readonly Address[];
  readonly faults: { readonly counts: Readonly<Record<string, number>>; start(): void; stop(): Promise<void> };
  dispose(): Promise<void>;
}

/** One server behind a proxy for each process. It writes its log before it answers, so it may be killed at any time. */
export async function serverPlace(options: HistoryOptions): Promise<Place> {
  const server = await startRedis(["--appendonly", "yes", "--appendfsync", "always"]);
  const proxies: TcpProxy[] = [];
  for (let index = 0; index < options.processes; index += 1) {
    const proxy = new TcpProxy(server.port);
    await proxy.listen();
    proxies.push(proxy);
  }
  const { seed, commandTimeoutMs, pauseMs } = options;
  return {
    addresses: proxies.map((proxy) => ({ proxyPort: proxy.port, redisPort: server.port })),
    faults: new Faults({ server, proxies, random: new Random(seed), commandTimeoutMs, pauseMs }),
    dispose: async () => {
      for (const proxy of proxies) proxy.close();
      await server.dispose();
    },
  };
}

/** A cluster whose primaries hand over to their replicas and whose slots move: nothing acknowledged is lost by either. */
export async function clusterPlace(options: HistoryOptions, users: readonly string[]): Promise<Place> {
  const cluster = await startCluster();
  const clusterPorts = cluster.startupNodes.map(({ port }) => port);
  const { seed, pauseMs, processes } = options;
  return {
    addresses: Array.from({ length: processes }, () => ({ clusterPorts })),
    faults: new ClusterFaults({ cluster, random: new Random(seed), users, pauseMs }),
    dispose: () => cluster.dispose(),
  };
}
