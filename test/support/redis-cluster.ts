import { Redis } from "ioredis";
import { eventually } from "./records.js";
import { freePort, type RedisServer, startRedis } from "./redis-server.js";

const SLOTS = 16_384;
const MASTERS = 3;

/** One server of a cluster; `root` speaks to it alone, and follows no redirection. */
export interface ClusterNode {
  readonly id: string;
  readonly server: RedisServer;
  readonly root: Redis;
}

/** Six servers in cluster mode: three primaries, each with a replica. */
export interface TestCluster {
  readonly nodes: readonly ClusterNode[];
  /** Any of them, for a client to begin with. */
  readonly startupNodes: readonly { readonly host: string; readonly port: number }[];
  /** Those that are primaries now. */
  primaries(): Promise<ClusterNode[]>;
  /** The primary of the slot of this key. */
  primaryOf(key: string): Promise<ClusterNode>;
  /** The replicas of this primary that follow it now. */
  replicasOf(primary: ClusterNode): Promise<ClusterNode[]>;
  /** The primary hands over to its replica (CLUSTER FAILOVER): nothing that it acknowledged is lost. */
  handOver(primary: ClusterNode): Promise<void>;
  /** Kills the primary (SIGKILL) and waits until its replica serves; starts it again if `isRestarted`, and waits for its data. */
  kill(primary: ClusterNode, isRestarted?: boolean): Promise<void>;
  /** Begins to move a key's slot: from here on MOVED, ASK and TRYAGAIN are met. */
  beginMove(key: string): Promise<SlotMove>;
  /** Waits until each node says that the cluster is well and each replica has its primary's data. */
  settled(): Promise<void>;
  dispose(): Promise<void>;
}

/** A slot on its way from one primary to another. */
export interface SlotMove {
  readonly slot: number;
  readonly from: ClusterNode;
  readonly to: ClusterNode;
  /** Moves the keys that are there now. */
  moveKeys(): Promise<void>;
  /** Gives the slot to its new owner for good. */
  finish(): Promise<void>;
}

export async function startCluster(args: readonly string[] = []): Promise<TestCluster> {
  const nodes = await Promise.all(Array.from({ length: 2 * MASTERS }, () => startNode(args)));
  try {
    await join(nodes);
  } catch (error) {
    await disposeAll(nodes);
    throw error;
  }
  return clusterOf(nodes);
}

async function startNode(args: readonly string[]): Promise<ClusterNode & { busPort: number }> {
  const busPort = await freePort();
  const server = await startRedis([
    ...["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-port", String(busPort)],
    ...["--cluster-node-timeout", "1000", "--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0"],
    ...["--cluster-allow-replica-migration", "no", ...args],
  ]);
  const root = new Redis(server.port, "127.0.0.1", { retryStrategy: () => 20 });
  root.on("error", () => undefined);
  return { id: String(await root.cluster("MYID")), server, root, busPort };
}

async function join(nodes: readonly (ClusterNode & { readonly busPort: number })[]): Promise<void> {
  const [first] = nodes;
  if (first === undefined) throw new Error("a cluster needs nodes");
  for (const [n, { root }] of nodes.entries()) {
    await root.call("CLUSTER", "SET-CONFIG-EPOCH", String(n + 1));
    if (n >= MASTERS) continue;
    const [from, to] = [n, n + 1].map((part) => Math.floor((part * SLOTS) / MASTERS));
    await root.call("CLUSTER", "ADDSLOTSRANGE", String(from), String((to ?? 0) - 1));
  }
  for (const { server, busPort } of nodes.slice(1)) {
    await first.root.call("CLUSTER", "MEET", "127.0.0.1", String(server.port), String(busPort));
  }
  await until("all know each other", async () => (await Promise.all(nodes.map(knownNodes))).every((n) => n === 6));
  for (const [n, { root }] of nodes.entries()) {
    if (n >= MASTERS) await root.call("CLUSTER", "REPLICATE", nodes[n - MASTERS]?.id ?? "");
  }
  await allSettled(nodes);
}

function clusterOf(nodes: readonly ClusterNode[]): TestCluster {
  const primaries = async (): Promise<ClusterNode[]> => {
    const roles = await Promise.all(nodes.map(roleOf));
    return nodes.filter((_, n) => roles[n] === "master");
  };
  const primaryOf = (key: string): Promise<ClusterNode> => ownerOf(nodes, key);
  const settled = (): Promise<void> => allSettled(nodes);
  const cluster: TestCluster = {
    nodes,
    startupNodes: nodes.map(({ server }) => ({ host: "127.0.0.1", port: server.port })),
    primaries,
    primaryOf,
    replicasOf: (primary) => replicasOf(nodes, primary),
    handOver: (primary) => handOver(nodes, primary),
    kill: (primary, isRestarted = true) => kill(nodes, primary, isRestarted),
    beginMove: async (key) => beginMove(nodes, await primaryOf(key), await primaries(), key),
    settled,
    dispose: () => disposeAll(nodes),
  };
  return cluster;
}

async function handOver(nodes: readonly ClusterNode[], primary: ClusterNode): Promise<void> {
  const [replica] = await replicasOf(nodes, primary);
  if (replica === undefined) throw new Error("this primary has no replica");
  const haveChanged = async (): Promise<boolean> =>
    (await roleOf(replica)) === "master" && (await roleOf(primary)) === "slave";
  // Redis gives a hand-over up after five seconds without a word: the others may not vote twice in a short time.
  for (let tries = 0; tries < 4; tries += 1) {
    await replica.root.call("CLUSTER", "FAILOVER");
    if (await eventually(haveChanged, 6_000)) break;
  }
  await until("they have changed places", haveChanged);
  await allSettled(nodes);
}

async function kill(nodes: readonly ClusterNode[], primary: ClusterNode, isRestarted: boolean): Promise<void> {
  const [replica] = await replicasOf(nodes, primary);
  if (replica === undefined) throw new Error("this primary has no replica");
  await primary.server.stop("SIGKILL");
  await until("the replica is a primary", async () => (await roleOf(replica)) === "master");
  if (!isRestarted) return;
  await primary.server.start();
  await until("the old primary is a replica", async () => (await roleOf(primary)) === "slave");
  await allSettled(nodes);
}

async function beginMove(
  nodes: readonly ClusterNode[],
  from: ClusterNode,
  primaries: readonly ClusterNode[],
  key: string,
): Promise<SlotMove> {
  const slot = Number(await from.root.cluster("KEYSLOT", key));
  const to = primaries.find(({ id }) => id !== from.id);
  if (to === undefined) throw new Error("there is nowhere to move the slot to");
  await to.root.call("CLUSTER", "SETSLOT", String(slot), "IMPORTING", from.id);
  await from.root.call("CLUSTER", "SETSLOT", String(slot), "MIGRATING", to.id);
  const moveKeys = async (): Promise<void> => {
    const keys = (await from.root.call("CLUSTER", "GETKEYSINSLOT", String(slot), "1000")) as string[];
    if (keys.length === 0) return;
    await from.root.call("MIGRATE", "127.0.0.1", String(to.server.port), "", "0", "5000", "KEYS", ...keys);
  };
  const finish = async (): Promise<void> => {
    await moveKeys();
    // The new owner first: else the slot would have none for a moment.
    await to.root.call("CLUSTER", "SETSLOT", String(slot), "NODE", to.id);
    await from.root.call("CLUSTER", "SETSLOT", String(slot), "NODE", to.id);
    for (const { id, root } of nodes) {
      if (id === to.id || id === from.id) continue;
      await root.call("CLUSTER", "SETSLOT", String(slot), "NODE", to.id).catch(() => undefined);
    }
  };
  return { slot, from, to, moveKeys, finish };
}

async function ownerOf(nodes: readonly ClusterNode[], key: string): Promise<ClusterNode> {
  const [first] = await Promise.all(nodes.map(async (node) => ((await isUp(node)) ? node : undefined))).then((up) =>
    up.filter((node) => node !== undefined),
  );
  if (first === undefined) throw new Error("no node answers");
  const slot = Number(await first.root.cluster("KEYSLOT", key));
  const ranges = await first.root.cluster("SLOTS");
  const range = ranges.find(([from, to]) => from <= slot && slot <= to);
  const owner = nodes.find(({ id }) => id === range?.[2]?.[2]);
  if (owner === undefined) throw new Error("the slot of this key has no owner");
  return owner;
}

async function replicasOf(nodes: readonly ClusterNode[], primary: ClusterNode): Promise<ClusterNode[]> {
  const infos = await Promise.all(nodes.map(replicationOf));
  return nodes.filter((_, n) => infos[n]?.includes(`master_port:${primary.server.port}\r\n`));
}

async function isUp({ root }: ClusterNode): Promise<boolean> {
  return root.status === "ready";
}

async function replicationOf(node: ClusterNode): Promise<string> {
  if (!(await isUp(node))) return "";
  return await node.root.info("replication").catch(() => "");
}

async function roleOf(node: ClusterNode): Promise<string> {
  return /^role:(\w+)/m.exec(await replicationOf(node))?.[1] ?? "none";
}

async function knownNodes({ root }: ClusterNode): Promise<number> {
  return Number(/cluster_known_nodes:(\d+)/.exec(await root.cluster("INFO"))?.[1]);
}

async function allSettled(nodes: readonly ClusterNode[]): Promise<void> {
  await until("the cluster is well", async () => {
    if (!(await Promise.all(nodes.map(isSettled))).every(Boolean)) return false;
    return new Set(await Promise.all(nodes.map(ownersAsSeenBy))).size === 1;
  });
}

async function isSettled(node: ClusterNode): Promise<boolean> {
  if (!(await isUp(node))) return false;
  const [info, replication] = await Promise.all([node.root.cluster("INFO").catch(() => ""), replicationOf(node)]);
  if (!info.includes("cluster_state:ok")) return false;
  return replication.includes("role:master")
    ? replication.includes("connected_slaves:1")
    : replication.includes("master_link_status:up");
}

/** Which primary has which slots, as text to compare. */
async function ownersAsSeenBy({ root }: ClusterNode): Promise<string> {
  const ranges = await root.cluster("SLOTS");
  return JSON.stringify(ranges.map(([from, to, owner]) => [from, to, owner?.[2]]).sort());
}

async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  if (!(await eventually(condition, 20_000))) throw new Error(`waited 20 s in vain until ${what}`);
}

async function disposeAll(nodes: readonly ClusterNode[]): Promise<void> {
  for (const { root } of nodes) root.disconnect();
  await Promise.all(nodes.map(({ server }) => server.dispose()));
}
