import { Redis, type RedisOptions } from "ioredis";
import RedisMock from "ioredis-mock";
import { Redis as Redis6 } from "ioredis6";
import { inject, onTestFinished } from "vitest";
import type { RedisClient } from "../../src/index.js";

/** Which client the integration tests run on: CLIENT=ioredis5 (default), ioredis6, ioredis6-resp2, ioredis6-resp3-mapping or mock. */
export type ClientKind = "ioredis5" | "ioredis6" | "ioredis6-resp2" | "ioredis6-resp3-mapping" | "mock";

export const CLIENT_KIND: ClientKind = (process.env["CLIENT"] ?? "ioredis5") as ClientKind;

/** Connects a client of the kind under test; `options` go to ioredis. */
export function connect(port: number, options: RedisOptions = {}, kind: ClientKind = CLIENT_KIND): Redis {
  switch (kind) {
    case "ioredis5":
      return new Redis(port, "127.0.0.1", options);
    case "ioredis6":
      return new Redis6(port, "127.0.0.1", options as never) as unknown as Redis;
    case "ioredis6-resp2":
      return new Redis6(port, "127.0.0.1", { ...options, protocol: 2 } as never) as unknown as Redis;
    case "ioredis6-resp3-mapping":
      return new Redis6(port, "127.0.0.1", { ...options, replyMapping: "resp3" } as never) as unknown as Redis;
    case "mock":
      return new RedisMock({ ...options, host: `mock-${port}-${options.db ?? 0}` }) as unknown as Redis;
    default:
      throw new Error(`CLIENT: unknown client kind "${kind}"`);
  }
}

/** An empty database on the shared server that no other test uses, and its number. */
export async function freshDatabase(): Promise<{ port: number; db: number }> {
  const port = inject("redisPort");
  const allocator = new Redis(port, "127.0.0.1");
  const db = await allocator.incr("test:databases");
  allocator.disconnect();
  if (db > 4095) throw new Error("more databases asked for than the server has");
  return { port, db };
}

/** A client on an empty database of its own, closed when the test ends. */
export async function freshClient(options: RedisOptions = {}): Promise<Redis & RedisClient> {
  const { port, db } = await freshDatabase();
  const client = connect(port, { ...options, db });
  onTestFinished(() => client.disconnect());
  return client as Redis & RedisClient;
}
