import type { Redis } from "ioredis";
import { onTestFinished } from "vitest";
import { CLIENT_KIND, connect } from "./clients.js";
import { startRedis } from "./redis-server.js";

/** A client on a server of the test's own, so that its command statistics count this test's commands only. */
export async function clientOnOwnServer(args: readonly string[] = []): Promise<Redis> {
  const server = await startRedis(args);
  onTestFinished(() => server.dispose());
  // Statistics are a server's: the embedded mock has none, so its run uses a real client here.
  const client = connect(server.port, {}, CLIENT_KIND === "mock" ? "ioredis5" : CLIENT_KIND);
  onTestFinished(() => client.disconnect());
  await client.ping();
  return client;
}

/** Calls per command since the last reset (commands inside scripts included), without those that ask for this very count. */
export async function commandCalls(client: Redis): Promise<Map<string, number>> {
  const calls = new Map<string, number>();
  for (const [, name, count] of (await client.info("commandstats")).matchAll(/^cmdstat_([^:|]+)[^:]*:calls=(\d+)/gm)) {
    if (name !== undefined && name !== "info" && name !== "config") calls.set(name, Number(count));
  }
  return calls;
}

export async function resetCommandCalls(client: Redis): Promise<void> {
  await client.config("RESETSTAT");
}
