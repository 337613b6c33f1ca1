import { kindOf, misuse } from "../check.js";

/**
 * The little that is asked of a Redis client: ioredis 5 and 6 (`Redis` and `Cluster`) and ioredis-mock fit it by shape.
 * No class is imported and no `instanceof` is used, so the application's own copy of ioredis is the only one.
 */
export interface RedisClient {
  /** ioredis' connection state. Commands are sent only while it is `"ready"`; ioredis-mock has none and counts as ready. */
  readonly status?: string;
  /** True for ioredis' `Cluster`. */
  readonly isCluster?: boolean;
  readonly options?: RedisClientOptions;
  /** ioredis' socket, so that what is sent together goes out in one write; ioredis-mock and cluster clients have none. */
  readonly stream?: RedisClientStream | null | undefined;
  on(event: string, listener: (...args: unknown[]) => void): unknown;
  removeListener(event: string, listener: (...args: unknown[]) => void): unknown;
  connect?(): Promise<unknown>;
  disconnect(reconnect?: boolean): unknown;
  get(key: string): Promise<string | null>;
  mget(keys: string[]): Promise<(string | null)[]>;
  del(key: string): Promise<number>;
  /** Gives a key a longer life, never a shorter one. */
  pexpire(key: string, milliseconds: number, condition: "GT"): Promise<number>;
  /** Lets a key's life end at this time at the latest. */
  pexpireat(key: string, epochMs: number, condition: "LT"): Promise<number>;
  eval(script: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  evalsha(sha1: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  time(): Promise<readonly (string | number)[]>;
  pipeline(commands?: unknown[][]): RedisPipeline;
}

/** What is looked at of a client's own options. */
export interface RedisClientOptions {
  /** What the client puts before every key. */
  readonly keyPrefix?: string | undefined;
  /** Of a sentinel client: which servers it connects to. */
  readonly role?: string | undefined;
  /** Whether the connection is to serve reads from a replica of a cluster. */
  readonly readOnly?: boolean | undefined;
  /** Of a cluster client: where it sends reads. */
  readonly scaleReads?: unknown;
  /** Of a cluster client: the options of its connections. */
  readonly redisOptions?: Pick<RedisClientOptions, "keyPrefix" | "readOnly"> | undefined;
}

/** The part of a socket that is used: what is written between the two goes out at once. */
export interface RedisClientStream {
  /** Holds back what is written. */
  cork?(): void;
  /** Writes what was held back. */
  uncork?(): void;
}

/** The part of an ioredis pipeline that is used. */
export interface RedisPipeline {
  exec(): Promise<[error: Error | null, result: unknown][] | null>;
}

/** What an ioredis `Cluster` has besides. */
export interface ClusterClient extends RedisClient {
  /** The nodes of each slot as `host:port`, its primary first; empty before the first connection. */
  readonly slots: readonly (readonly string[] | undefined)[];
  nodes(role: "master"): readonly NodeClient[];
  /** Asks the cluster again who has which slot. */
  refreshSlotsCache(): void;
}

/** The connection a cluster client has to one node. */
export interface NodeClient extends RedisClient {
  readonly options: RedisClientOptions & { readonly host?: string | undefined; readonly port?: number | undefined };
  duplicate(override: object): RedisClient;
}

const REQUIRED_METHODS = [
  "on",
  "removeListener",
  "get",
  "mget",
  "del",
  "pexpire",
  "pexpireat",
  "eval",
  "evalsha",
  "time",
  "pipeline",
] as const;
const CLUSTER_METHODS = ["nodes", "refreshSlotsCache"] as const;

/** Throws a `TypeError` unless `client` looks like an ioredis client that reads from primaries. */
export function checkClient(where: string, client: unknown): void {
  if (typeof client !== "object" || client === null) {
    throw misuse(`${where}: client: expected an ioredis client, got ${kindOf(client)}`, "ERR_INVALID_ARG_TYPE");
  }
  const members = client as Readonly<Record<string, unknown>>;
  const required = members["isCluster"] === true ? [...REQUIRED_METHODS, ...CLUSTER_METHODS] : REQUIRED_METHODS;
  const missing = required.filter((name) => typeof members[name] !== "function");
  if (missing.length > 0) {
    throw misuse(
      `${where}: client: expected an ioredis client, got an object without ${missing.join(", ")}`,
      "ERR_INVALID_ARG_TYPE",
    );
  }
  checkReadsFromPrimary(where, (client as RedisClient).options ?? {});
}

/** A replica may not have the last logouts yet: what it answers must never count. */
function checkReadsFromPrimary(where: string, options: RedisClientOptions): void {
  const wrong =
    (options.scaleReads !== undefined && options.scaleReads !== "master" && "scaleReads") ||
    (options.role === "slave" && "role") ||
    ((options.readOnly === true || options.redisOptions?.readOnly === true) && "readOnly");
  if (wrong === false) return;
  throw misuse(
    `${where}: client: expected a client that reads from primaries, got one whose option ${wrong} sends reads to replicas, ` +
      "where a logged-out session can still look good; give the store a client of its own",
    "ERR_INVALID_ARG_VALUE",
  );
}

/** The client as a cluster's, if it is one. */
export function asCluster(client: RedisClient): ClusterClient | undefined {
  return client.isCluster === true ? (client as ClusterClient) : undefined;
}
