import { Redis } from "ioredis";
import { eventually } from "./records.js";
import { type RedisServer, startRedis, startSentinelServer } from "./redis-server.js";

/** The name under which the sentinels know the group. */
export const GROUP = "sessions";

export interface SentinelNode {
  readonly server: RedisServer;
  readonly root: Redis;
}

/** A primary with two replicas, watched by three sentinels. */
export interface TestSentinels {
  readonly nodes: readonly SentinelNode[];
  /** For the `sentinels` option of a client. */
  readonly sentinels: { readonly host: string; readonly port: number }[];
  /** The server that calls itself a primary and that the sentinels name. */
  primary(): Promise<SentinelNode>;
  /** SENTINEL FAILOVER: the sentinels promote a replica. */
  handOver(): Promise<void>;
  /** Kills the primary (SIGKILL), waits until another is promoted and starts it again, as a replica. */
  kill(): Promise<void>;
  /** Waits until both replicas follow the primary. */
  settled(): Promise<void>;
  dispose(): Promise<void>;
}

export async function startSentinels(args: readonly string[] = []): Promise<TestSentinels> {
  const own = ["--repl-diskless-sync-delay", "0", ...args];
  const first = await startNode(own);
  const follow = ["--replicaof", `127.0.0.1 ${first.server.port}`];
  const nodes = [first, ...(await Promise.all([1, 2].map(() => startNode([...own, ...follow]))))];
  const watchers = await Promise.all([1, 2, 3].map(() => startSentinel(first.server.port)));
  const group = groupOf(nodes, watchers);
  await group.settled();
  return group;
}

async function startNode(args: readonly string[]): Promise<SentinelNode> {
  const server = await startRedis(args);
  return { server, root: rootOf(server) };
}

function rootOf({ port }: RedisServer): Redis {
  const root = new Redis(port, "127.0.0.1", { retryStrategy: () => 20 });
  root.on("error", () => undefined);
  return root;
}

async function startSentinel(primaryPort: number): Promise<SentinelNode> {
  const server = await startSentinelServer();
  const root = rootOf(server);
  await root.call("SENTINEL", "MONITOR", GROUP, "127.0.0.1", String(primaryPort), "2");
  for (const [name, value] of [
    ["down-after-milliseconds", "500"],
    ["failover-timeout", "2000"],
    ["parallel-syncs", "2"],
  ] as const) {
    await root.call("SENTINEL", "SET", GROUP, name, value);
  }
  // By default a sentinel looks at the servers every ten seconds only: a failover would take as long to get around.
  for (const period of ["INFO-PERIOD", "PUBLISH-PERIOD"]) await root.call("SENTINEL", "DEBUG", period, "200");
  return { server, root };
}

function groupOf(nodes: readonly SentinelNode[], watchers: readonly SentinelNode[]): TestSentinels {
  const findPrimary = async (): Promise<SentinelNode | undefined> => {
    const named = await Promise.all(watchers.map(({ root }) => namedPort(root)));
    const node = nodes.find(({ server }) => named.every((port) => port === server.port));
    return node !== undefined && (await replicationOf(node)).includes("role:master") ? node : undefined;
  };
  const primary = async (): Promise<SentinelNode> => {
    let found: SentinelNode | undefined;
    await until("the sentinels agree on a primary", async () => {
      found = await findPrimary();
      return found !== undefined;
    });
    if (found === undefined) throw new Error("there is no primary");
    return found;
  };
  const settled = async (): Promise<void> => {
    await until("both replicas follow the primary", async () => {
      const info = await findPrimary().then((node) => (node === undefined ? "" : replicationOf(node)));
      if ((info.match(/state=online/g) ?? []).length !== nodes.length - 1) return false;
      return (await Promise.all(watchers.map(({ root }) => isGroupKnown(root)))).every(Boolean);
    });
  };
  const isReplaced = async (old: SentinelNode): Promise<void> => {
    await until("another is promoted", async () => {
      const now = await findPrimary();
      return now !== undefined && now !== old;
    });
  };
  return {
    nodes,
    sentinels: watchers.map(({ server }) => ({ host: "127.0.0.1", port: server.port })),
    primary,
    settled,
    handOver: async () => {
      const old = await primary();
      // A sentinel refuses while the last failover is still being told around.
      await until("a sentinel begins the failover", async () => await beginFailover(watchers));
      await isReplaced(old);
      await settled();
    },
    kill: async () => {
      const old = await primary();
      await old.server.stop("SIGKILL");
      await isReplaced(old);
      const { server } = await primary();
      await old.server.start(["--replicaof", `127.0.0.1 ${server.port}`]);
      await settled();
    },
    dispose: async () => {
      for (const { root } of [...nodes, ...watchers]) root.disconnect();
      await Promise.all([...watchers, ...nodes].map(({ server }) => server.dispose()));
    },
  };
}

async function beginFailover(watchers: readonly SentinelNode[]): Promise<boolean> {
  const [first] = watchers;
  if (first === undefined) return false;
  return await first.root.call("SENTINEL", "FAILOVER", GROUP).then(
    () => true,
    () => false,
  );
}

async function namedPort(root: Redis): Promise<number> {
  const address = await root.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", GROUP).catch(() => undefined);
  return Array.isArray(address) ? Number(address[1]) : 0;
}

/** Each sentinel must know the two others and both replicas before it can promote one. */
async function isGroupKnown(root: Redis): Promise<boolean> {
  const reply = await root.call("SENTINEL", "MASTER", GROUP).catch(() => []);
  const fields = Array.isArray(reply) ? reply.map(String) : [];
  const field = (name: string): string | undefined => fields[fields.indexOf(name) + 1];
  return field("num-other-sentinels") === "2" && field("num-slaves") === "2" && field("flags") === "master";
}

async function replicationOf({ root }: SentinelNode): Promise<string> {
  if (root.status !== "ready") return "";
  return await root.info("replication").catch(() => "");
}

async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  if (!(await eventually(condition, 30_000))) throw new Error(`waited 30 s in vain until ${what}`);
}
