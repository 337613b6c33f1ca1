import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Redis, type RedisOptions } from "ioredis";
import { onTestFinished } from "vitest";
import type { RedisClient } from "../../src/index.js";
import { type TestApp, type TestAppOptions, testApp } from "./app.js";
import { CLIENT_KIND, connect } from "./clients.js";
import { eventually } from "./records.js";
import { type RedisServer, startRedis } from "./redis-server.js";

/** A server of the test's own, that it may break; `root` looks at it without the store and may do anything. */
export interface FaultyServer extends RedisServer {
  readonly root: Redis;
  /** What it holds, as a dump to restart from. */
  dump(): Promise<Buffer>;
  /** Kills it (SIGKILL) and starts it with what the dump holds; without one, empty. */
  restartWith(dump: Buffer | undefined): Promise<void>;
}

export async function faultyServer(args: readonly string[] = []): Promise<FaultyServer> {
  // By default a primary waits five seconds for more replicas before it serves the first.
  const server = await startRedis(["--repl-diskless-sync-delay", "0", ...args]);
  onTestFinished(() => server.dispose());
  const root = rootClient(server.port);
  const file = join(server.folder, "dump.rdb");
  return {
    ...server,
    root,
    dump: async () => {
      await root.save();
      return readFileSync(file);
    },
    restartWith: async (dump) => {
      await server.stop("SIGKILL");
      if (dump === undefined) rmSync(file, { force: true });
      else writeFileSync(file, dump);
      await server.start();
    },
  };
}

/** A server that follows this one, once it has all of its data. */
export async function replicaOf(primary: RedisServer): Promise<FaultyServer> {
  const replica = await faultyServer(["--replicaof", `127.0.0.1 ${primary.port}`]);
  if (!(await eventually(() => isInSync(replica), 10_000))) throw new Error("the replica got no data");
  return replica;
}

export async function isInSync({ root }: FaultyServer): Promise<boolean> {
  return (await root.info("replication")).includes("master_link_status:up");
}

function rootClient(port: number, options: RedisOptions = {}): Redis {
  const root = new Redis(port, "127.0.0.1", { retryStrategy: () => 20, ...options });
  root.on("error", () => undefined);
  onTestFinished(() => root.disconnect());
  return root;
}

/** A client of the kind under test on this server, as an application would have it. */
export function clientOf({ port }: RedisServer, options: RedisOptions = {}): Redis & RedisClient {
  // Servers that break need a client that has one.
  const client = connect(port, options, CLIENT_KIND === "mock" ? "ioredis5" : CLIENT_KIND);
  client.on("error", () => undefined);
  onTestFinished(() => client.disconnect());
  return client as Redis & RedisClient;
}

/** A test application on this server; `client` is the store's own. The store is closed when the test ends. */
export async function faultyApp(
  server: RedisServer,
  { client: clientOptions, ...options }: TestAppOptions & { readonly client?: RedisOptions } = {},
): Promise<TestApp> {
  const client = clientOf(server, { retryStrategy: () => 20, ...clientOptions });
  const app = await testApp({ ...options, store: { commandTimeoutMs: 1_000, ...options.store, client } });
  onTestFinished(() => app.store.close());
  return { ...app, client };
}

/** Every key with its value, as text to compare. */
export async function contentOf(root: Redis): Promise<Record<string, string | null>> {
  const keys = (await root.keys("*")).sort();
  const values = keys.length === 0 ? [] : await root.mget(keys);
  return Object.fromEntries(keys.map((key, index) => [key, values[index] ?? null]));
}
