import { readFileSync } from "node:fs";
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { idempotencyApp, pay } from "../support/idempotency-app.js";
import { startRedis } from "../support/redis-server.js";
import { submit, tokenApp, tokenFor } from "../support/token-app.js";

const PAGE = readFileSync(new URL("../../docs/redis-keys.md", import.meta.url), "utf8");
const STORE_RULES = rulesAfter(/^ACL SETUSER sessions on >\S+ (.*)$/m);

test.each([
  ["submit tokens", rulesAfter(/submit tokens need `([^`]*)`/), useTokens],
  ["idempotency keys", rulesAfter(/idempotency keys `([^`]*)`/), useKeys],
])("docs: the ACL rules of redis-keys.md are enough for %s, and none can be left out", async (_name, rules, use) => {
  expect(await deniedOf([...STORE_RULES, ...rules], use)).toEqual([]);
  for (const rule of rules) {
    const others = rules.filter((each) => each !== rule);
    expect(await deniedOf([...STORE_RULES, ...others], use), `without ${rule}`).not.toEqual([]);
  }
});

function rulesAfter(pattern: RegExp): string[] {
  const text = pattern.exec(PAGE)?.[1];
  if (text === undefined) throw new Error(`docs/redis-keys.md has no rules at ${pattern}`);
  return text.trim().split(/\s+/);
}

/** What the server denies a user with these rules. */
async function deniedOf(rules: readonly string[], use: (client: Redis) => Promise<void>): Promise<string[]> {
  const server = await startRedis();
  const root = new Redis(server.port, "127.0.0.1");
  await root.call("ACL", "SETUSER", "app", "on", ">password", ...rules);
  const client = new Redis(server.port, "127.0.0.1", {
    username: "app",
    password: "password",
    retryStrategy: () => null,
  });
  client.on("error", () => undefined);
  onTestFinished(async () => {
    client.disconnect();
    root.disconnect();
    await server.dispose();
  });
  await use(client).catch(() => undefined);
  const log = (await root.call("ACL", "LOG")) as string[][];
  return log.map((entry) => `${entry[5]} ${entry[7]}`).filter((text) => !/client\|set/i.test(text));
}

async function useTokens(client: Redis): Promise<void> {
  const shop = await tokenApp({
    store: { client },
    tokens: { maxLiveTokens: 2 },
    protect: { release: "on-error" },
    handler: async (req, res) => {
      await req.submitToken?.[req.query["way"] === "release" ? "release" : "commit"]();
      res.json({});
    },
  });
  const browser = shop.browser();
  for (let forms = 0; forms < 4; forms += 1) await tokenFor(browser);
  await submit(browser, await tokenFor(browser));
  await browser.post("/submit?way=release", { _submit_token: await tokenFor(browser) });
}

async function useKeys(client: Redis): Promise<void> {
  const shop = await idempotencyApp({
    store: { client },
    idempotency: { client },
    handler: async (req, res) => {
      await req.idempotency?.commit();
      res.json({});
    },
  });
  for (let repeats = 0; repeats < 2; repeats += 1) await pay(shop, "key");
}
