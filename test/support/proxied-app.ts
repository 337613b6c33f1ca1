import { Redis, type RedisOptions } from "ioredis";
import { onTestFinished } from "vitest";
import type { RedisClient } from "../../src/index.js";
import { type TestApp, type TestAppOptions, testApp } from "./app.js";
import { CLIENT_KIND, connect, freshDatabase } from "./clients.js";
import { startProxy, type TcpProxy } from "./tcp-proxy.js";

export interface ProxiedApp extends TestApp {
  readonly proxy: TcpProxy;
}

/** A client that reaches an empty database through a proxy, and one that looks at the same database without it. */
export async function proxiedClient(
  clientOptions: RedisOptions = {},
  serverPort?: number,
): Promise<{ proxy: TcpProxy; proxied: Redis & RedisClient; client: Redis & RedisClient }> {
  const { port, db } = serverPort === undefined ? await freshDatabase() : { port: serverPort, db: 0 };
  const proxy = await startProxy(port);
  // A connection that breaks needs a client that has one.
  const kind = CLIENT_KIND === "mock" ? "ioredis5" : CLIENT_KIND;
  const proxied = connect(proxy.port, { retryStrategy: () => 20, ...clientOptions, db }, kind);
  proxied.on("error", () => undefined);
  const client = new Redis(port, "127.0.0.1", { db });
  onTestFinished(() => {
    proxied.disconnect();
    client.disconnect();
  });
  return { proxy, proxied: proxied as Redis & RedisClient, client: client as Redis & RedisClient };
}

/** A test application whose store reaches Redis through a proxy; its `client` does without. */
export async function proxiedApp(
  clientOptions: RedisOptions = {},
  options: TestAppOptions = {},
  serverPort?: number,
): Promise<ProxiedApp> {
  const { proxy, proxied, client } = await proxiedClient(clientOptions, serverPort);
  const app = await testApp({ ...options, store: { ...options.store, client: proxied } });
  return { ...app, client, proxy };
}

/** Every script has been run once: from here on a lost reply is an EVALSHA's, not the NOSCRIPT's before it. */
export async function warmedUp(
  isResent: boolean,
  options: TestAppOptions = {},
  serverPort?: number,
): Promise<ProxiedApp> {
  // Without re-sending, ioredis says nothing about the lost command: the deadline does.
  const store = { commandTimeoutMs: isResent ? 5_000 : 300, ...options.store };
  const app = await proxiedApp({ autoResendUnfulfilledCommands: isResent }, { ...options, store }, serverPort);
  const device = await app.signedIn("warm-up");
  await device.post("/set/a/1");
  await device.post("/rotate");
  await device.post("/others");
  await device.post("/everywhere");
  const other = app.browser();
  await other.post("/set/a/1");
  await other.post("/set/a/2");
  await other.post("/logout");
  await app.client.flushdb();
  return app;
}
