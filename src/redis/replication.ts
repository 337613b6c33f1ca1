import { RedisError } from "../errors.js";
import { asCluster, type ClusterClient, type NodeClient, type RedisClient } from "./client.js";
import { ClusterNodes } from "./cluster-nodes.js";
import { type Mark, ReplicatedConnection } from "./replicated-connection.js";

/** Asks how many replicas have a write. */
export interface Replication {
  /**
   * Makes a mark and waits for up to `timeoutMs` until `replicas` replicas have it; says how many have. `key`: what the mark writes.
   */
  acknowledged(mark: Mark, replicas: number, timeoutMs: number, key: string): Promise<number>;
  close(): void;
}

/** Opens connections of its own, on first use. */
export function replicationOf(client: RedisClient, timeoutMs: number): Replication {
  const cluster = asCluster(client);
  return cluster === undefined
    ? new ReplicatedConnection(client, timeoutMs)
    : new ClusterReplication(cluster, timeoutMs);
}

/**
 * On a cluster: one connection to each primary that was asked, which follows no redirection. If the key's slot goes elsewhere
 * meanwhile, the mark is refused (MOVED), or WAIT is (it is a replica now): then the count is not known.
 */
class ClusterReplication implements Replication {
  readonly #nodes: ClusterNodes;
  readonly #timeoutMs: number;
  readonly #connections = new Map<NodeClient, ReplicatedConnection>();
  #isClosed = false;

  constructor(client: ClusterClient, timeoutMs: number) {
    this.#nodes = new ClusterNodes(client);
    this.#timeoutMs = timeoutMs;
  }

  async acknowledged(mark: Mark, replicas: number, timeoutMs: number, key: string): Promise<number> {
    if (this.#isClosed) throw new RedisError("ERR_STORE_CLOSED", "not-sent", "The store was closed; create a new one");
    this.#dropGone();
    const node = this.#nodes.nodeOf(key);
    if (node === undefined) {
      throw new RedisError("ERR_REDIS_UNAVAILABLE", "not-sent", "No primary is known for the key of a generation");
    }
    let connection = this.#connections.get(node);
    if (connection === undefined) {
      connection = new ReplicatedConnection(node, this.#timeoutMs, { keyPrefix: this.#nodes.keyPrefix });
      this.#connections.set(node, connection);
    }
    return await connection.acknowledged(mark, replicas, timeoutMs);
  }

  close(): void {
    this.#isClosed = true;
    for (const connection of this.#connections.values()) connection.close();
    this.#connections.clear();
  }

  /** Nodes that are primaries no longer, or that the client has connected to anew. */
  #dropGone(): void {
    const primaries = new Set(this.#nodes.primaries());
    for (const [node, connection] of this.#connections) {
      if (primaries.has(node)) continue;
      connection.close();
      this.#connections.delete(node);
    }
  }
}
