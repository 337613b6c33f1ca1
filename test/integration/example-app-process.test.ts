import { once } from "node:events";
import { createServer } from "node:net";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { BUILD_TIMEOUT_MS, ensureBuilt } from "../support/build.js";
import { accountOf, freshRedisUrl, spawnExampleApp, startExampleApp } from "../support/example-app.js";
import { freePort } from "../support/redis-server.js";

beforeAll(ensureBuilt, BUILD_TIMEOUT_MS);

test.each(["SIGTERM", "SIGINT"] as const)(
  "%s ends the shop cleanly, also on Redis and with connections open",
  async (signal) => {
    const shop = await startExampleApp(signal === "SIGINT" ? { REDIS_URL: (await freshRedisUrl()).url } : {});
    await shop.browser().get("/sign-in");
    expect(await shop.stop(signal)).toBe(0);
  },
);

test("a restart on the same Redis and secret keeps people signed in", async () => {
  const settings = { REDIS_URL: (await freshRedisUrl()).url, SESSION_SECRET: "the secret of this test" };
  const first = await startExampleApp({ ...settings, PORT: String(await freePort()) });
  expect(first.output()).not.toContain("SESSION_SECRET");
  const device = await first.signedIn("alice");
  await first.stop();
  const second = await startExampleApp({ ...settings, PORT: new URL(first.base).port });
  onTestFinished(async () => {
    await second.stop();
  });
  expect((await accountOf(device))?.userId).toBe("100");
});

test.each([
  [{ PORT: "many" }, "PORT: expected a whole number from 0 to 65535"],
  [{ REDIS_URL: "http://user:hidden@host" }, "REDIS_URL: expected redis://host:port or rediss://host:port"],
  [{ TRUST_PROXY: "true" }, "TRUST_PROXY: expected the number of proxies"],
  [{ ADMIN_MAX_AGE_MS: "0" }, "ADMIN_MAX_AGE_MS: expected a whole number from 1"],
])("a wrong setting ends the start with a sentence: %o", async (settings, sentence) => {
  const { child, output } = spawnExampleApp(settings as Record<string, string>);
  const [code] = await once(child, "close");
  expect(code).toBe(1);
  expect(output()).toContain(sentence);
  expect(output()).not.toMatch(/hidden|at \w+ \(/);
});

test("a port in use ends the start with a sentence", async () => {
  const squatter = createServer().listen(0, "127.0.0.1");
  await once(squatter, "listening");
  onTestFinished(() => void squatter.close());
  const address = squatter.address();
  const port = address !== null && typeof address === "object" ? String(address.port) : "";
  const { child, output } = spawnExampleApp({ PORT: port });
  const [code] = await once(child, "close");
  expect([code, output()]).toEqual([1, "The port is in use. Choose another one: PORT=3001 npm run demo\n"]);
});
