/** One process of a history: many concurrent clients on one store. Started by runner.ts, with its settings as the argument. */
import { createWriteStream } from "node:fs";
import { Cluster, Redis } from "ioredis";
import { Cluster as Cluster6, Redis as Redis6 } from "ioredis6";
import { GenerationStore, type RedisClient } from "../../src/index.js";
import { runClient } from "./client.js";
import { Random } from "./random.js";
import { RequestLine } from "./requests.js";
import { SessionPool } from "./session-pool.js";
import type { World } from "./world.js";

/** Where a process reaches Redis: one server, through its proxy and without; or a cluster. */
export type Address =
  | { readonly proxyPort: number; readonly redisPort: number }
  | { readonly clusterPorts: readonly number[] };

export interface WorkerSettings {
  readonly process: number;
  readonly clients: number;
  readonly users: readonly string[];
  readonly seed: number;
  readonly address: Address;
  /** The server that holds passwords and passes cookies on; it never fails. */
  readonly usersPort: number;
  /** Receives the history, one operation a line. */
  readonly file: string;
  readonly ioredis: 5 | 6;
  readonly autoResendUnfulfilledCommands: boolean;
  readonly commandTimeoutMs: number;
}

/** How the runner ends a worker, and what it hears at the end. */
export type ToWorker = "stop";
export type FromWorker = { readonly ready: true } | { readonly done: true } | { readonly failed: string };

const HANG_MS = 10_000;

const CHANNEL = "cookies";

const settings = JSON.parse(process.argv[2] ?? "{}") as WorkerSettings;

/** The store's client. */
function proxiedClient(): RedisClient & Pick<Redis, "disconnect"> {
  const { ioredis, address, autoResendUnfulfilledCommands } = settings;
  if ("clusterPorts" in address) return clusterClient(address.clusterPorts);
  const { proxyPort } = address;
  const options = { autoResendUnfulfilledCommands, maxRetriesPerRequest: null, retryStrategy: () => 20 };
  const client =
    ioredis === 5 ? new Redis(proxyPort, "127.0.0.1", options) : new Redis6(proxyPort, "127.0.0.1", options);
  client.on("error", () => undefined);
  return client as unknown as RedisClient & Pick<Redis, "disconnect">;
}

function clusterClient(ports: readonly number[]): Cluster & RedisClient {
  const nodes = ports.map((port) => ({ host: "127.0.0.1", port }));
  const client = settings.ioredis === 5 ? new Cluster(nodes) : new Cluster6(nodes);
  client.on("error", () => undefined);
  return client as unknown as Cluster & RedisClient;
}

/** A client of another service, which knows nothing of the store. */
function foreignClient(): Pick<Redis, "incr" | "disconnect"> {
  const { address } = settings;
  if ("clusterPorts" in address) return clusterClient(address.clusterPorts) as Pick<Cluster, "incr" | "disconnect">;
  const foreign = new Redis(address.redisPort, "127.0.0.1", {
    ...{ autoResendUnfulfilledCommands: false, enableOfflineQueue: false, retryStrategy: () => 20 },
  });
  foreign.on("error", () => undefined);
  return foreign;
}

async function main(): Promise<void> {
  const { process: index, clients, users, seed, usersPort, file, commandTimeoutMs } = settings;
  const out = createWriteStream(file);
  const proxied = proxiedClient();
  const foreign = foreignClient();
  const usersClient = new Redis(usersPort, "127.0.0.1");
  const listener = new Redis(usersPort, "127.0.0.1");
  const store = new GenerationStore({ client: proxied, commandTimeoutMs, touchIntervalMs: 0 });
  const pool = new SessionPool();
  listener.on("message", (_channel, text) => {
    const [user = "", sid = ""] = JSON.parse(text) as string[];
    pool.add(user, sid);
  });
  await listener.subscribe(CHANNEL);
  let ids = 0;
  let values = 0;
  const newId = (): string => {
    ids += 1;
    return `${index}-${ids}`;
  };
  const shared: Omit<World, "client" | "random" | "doing"> = {
    process: index,
    store,
    requests: new RequestLine(store, newId),
    pool,
    busy: { user: "" },
    foreign,
    users: usersClient,
    newValue: () => {
      values += 1;
      return `${index}/${values}`;
    },
    record: (operation) => out.write(`${JSON.stringify(operation)}\n`),
    publish: (user, sid) => {
      pool.add(user, sid);
      usersClient.publish(CHANNEL, JSON.stringify([user, sid])).catch(() => undefined);
    },
  };
  let isStopped = false;
  const doing = new Map<number, string>();
  process.on("message", () => {
    isStopped = true;
    // Every operation has a deadline: what is still going on after this long hangs.
    setTimeout(() => fail(new Error(`did not end: ${[...doing.values()].join(", ")}`)), HANG_MS).unref();
  });
  tell({ ready: true });
  const running = Array.from({ length: clients }, (_, client) =>
    runClient(
      { ...shared, doing, client, random: new Random(seed * 1_000 + index * 100 + client) },
      users,
      () => isStopped,
    ),
  );
  await Promise.all(running);
  await store.close();
  for (const client of [proxied, foreign, usersClient, listener]) client.disconnect();
  await new Promise<void>((resolve) => out.end(resolve));
  tell({ done: true });
}

function tell(message: FromWorker): void {
  process.send?.(message);
}

/** Also what escapes every handler ends here: an unhandled rejection is a bug of the library or of the harness. */
function fail(error: unknown): void {
  tell({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  process.exitCode = 1;
  setImmediate(() => process.exit());
}

process.on("uncaughtException", fail);
process.on("unhandledRejection", fail);
process.on("disconnect", () => process.exit());
main().then(() => process.disconnect?.(), fail);
