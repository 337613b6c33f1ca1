import { Cluster, type ClusterOptions } from "ioredis";
import { Cluster as Cluster6 } from "ioredis6";
import { onTestFinished } from "vitest";
import { idempotency, type RedisClient } from "../../src/index.js";
import { CLIENT_KIND } from "./clients.js";
import type { TestCluster } from "./redis-cluster.js";
import { type TokenApp, type TokenAppOptions, tokenApp } from "./token-app.js";

export type ClusterClient = Cluster & RedisClient;

/** A client of the kind under test on this cluster, as an application would have it. */
export function clusterClient({ startupNodes }: TestCluster, options: ClusterOptions = {}): ClusterClient {
  const nodes = [...startupNodes];
  const client =
    CLIENT_KIND === "ioredis5" || CLIENT_KIND === "mock"
      ? new Cluster(nodes, options)
      : (new Cluster6(nodes, options as never) as unknown as Cluster);
  client.on("error", () => undefined);
  onTestFinished(() => client.disconnect());
  return client as ClusterClient;
}

export interface ClusterApp extends Omit<TokenApp, "client"> {
  readonly client: ClusterClient;
  /** How often the handler of POST /pay ran. */
  payments(): number;
}

/** A test application on a cluster, with submit tokens and a POST /pay under an idempotency key. */
export async function clusterApp(
  cluster: TestCluster,
  { clientOptions, ...options }: TokenAppOptions & { readonly clientOptions?: ClusterOptions } = {},
): Promise<ClusterApp> {
  const client = clusterClient(cluster, clientOptions);
  let payments = 0;
  const app = await tokenApp({
    ...options,
    store: { ...options.store, client },
    routes: (shop, store) => {
      shop.post("/pay", idempotency({ client }), (_req, res) => {
        payments += 1;
        res.status(201).json({ payment: "made" });
      });
      options.routes?.(shop, store);
    },
  });
  onTestFinished(() => app.store.close());
  return { ...app, client, payments: () => payments };
}
