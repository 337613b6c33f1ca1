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
  readonly options?: { readonly keyPrefix?: string | undefined };
  on(event: string, listener: (...args: unknown[]) => void): unknown;
  removeListener(event: string, listener: (...args: unknown[]) => void): unknown;
  connect?(): Promise<unknown>;
  disconnect(reconnect?: boolean): unknown;
  get(key: string): Promise<string | null>;
  mget(keys: string[]): Promise<(string | null)[]>;
  del(key: string): Promise<number>;
  eval(script: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  evalsha(sha1: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  time(): Promise<readonly (string | number)[]>;
  pipeline(commands?: unknown[][]): RedisPipeline;
}

/** The part of an ioredis pipeline that is used. */
export interface RedisPipeline {
  exec(): Promise<[error: Error | null, result: unknown][] | null>;
}

const REQUIRED_METHODS = ["on", "removeListener", "get", "mget", "del", "eval", "evalsha", "time", "pipeline"] as const;

/** Throws a `TypeError` unless `client` looks like an ioredis client. */
export function checkClient(where: string, client: unknown): void {
  if (typeof client !== "object" || client === null) {
    throw misuse(`${where}: client: expected an ioredis client, got ${kindOf(client)}`, "ERR_INVALID_ARG_TYPE");
  }
  const methods = client as Readonly<Record<string, unknown>>;
  const missing = REQUIRED_METHODS.filter((name) => typeof methods[name] !== "function");
  if (missing.length > 0) {
    throw misuse(
      `${where}: client: expected an ioredis client, got an object without ${missing.join(", ")}`,
      "ERR_INVALID_ARG_TYPE",
    );
  }
}
