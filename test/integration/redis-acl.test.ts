import { readFileSync } from "node:fs";
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { GenerationStore } from "../../src/index.js";
import { testApp, userOf } from "../support/app.js";
import { CLIENT_KIND, connect } from "../support/clients.js";
import { startRedis } from "../support/redis-server.js";

/** The rules that docs/redis-keys.md tells people to use. */
const RULES = documentedRules();

test("docs: the ACL user of redis-keys.md can do all that the store does", async () => {
  const { denied } = await runAllAs(RULES);
  expect(denied).toEqual([]);
});

test("docs: none of the commands in that ACL can be left out", async () => {
  const commands = RULES.filter((rule) => rule.startsWith("+") && !rule.includes("|"));
  expect(commands.length).toBeGreaterThan(8);
  for (const command of commands) {
    const { denied } = await runAllAs(RULES.filter((rule) => rule !== command));
    expect(denied, `without ${command}`).not.toEqual([]);
  }
}, 60_000);

test("docs: that ACL user can touch nothing but the store's keys", async () => {
  const { client } = await runAllAs(RULES);
  await expect(client.get("other:key")).rejects.toThrow(/NOPERM/);
  await expect(client.flushall()).rejects.toThrow(/NOPERM/);
  await expect(client.set("session:x", "100,1")).resolves.toBe("OK");
});

function documentedRules(): string[] {
  const page = readFileSync(new URL("../../docs/redis-keys.md", import.meta.url), "utf8");
  const line = /^ACL SETUSER sessions on >\S+ (.*)$/m.exec(page)?.[1];
  if (line === undefined) throw new Error("docs/redis-keys.md has no ACL SETUSER line");
  return line.trim().split(/\s+/);
}

/** Runs everything the store does as a user with these rules; answers what the server denied. */
async function runAllAs(rules: readonly string[]): Promise<{ denied: string[]; client: Redis }> {
  const server = await startRedis();
  onTestFinished(() => server.dispose());
  const root = new Redis(server.port, "127.0.0.1");
  onTestFinished(() => root.disconnect());
  await root.call("ACL", "SETUSER", "sessions", "on", ">password", ...rules);
  const client = connect(
    server.port,
    { username: "sessions", password: "password", retryStrategy: () => null },
    CLIENT_KIND === "mock" ? "ioredis5" : CLIENT_KIND,
  );
  client.on("error", () => undefined);
  onTestFinished(() => client.disconnect());
  await useEverything(client).catch(() => undefined);
  const log = (await root.call("ACL", "LOG")) as string[][];
  // CLIENT SETINFO is ioredis telling its name; it carries on without.
  const denied = log.map((entry) => `${entry[5]} ${entry[7]}`).filter((text) => !/client\|set/i.test(text));
  return { denied, client };
}

async function useEverything(client: Redis): Promise<void> {
  const store = { client, touchIntervalMs: 0, commandTimeoutMs: 500, absoluteTtlMs: 3_600_000 };
  const { signedIn, browser, store: own } = await testApp({ store });
  const steps: (() => Promise<unknown>)[] = [
    async () => {
      const device = await signedIn("100");
      for (const path of ["/set/a/1", "/rotate", "/others", "/everywhere"]) await device.post(path);
      await userOf(device);
    },
    async () => {
      const device = await signedIn("100");
      await userOf(device);
      await device.post("/logout");
    },
    () => browser().post("/set/a/1"),
    () => own.set("by-hand", { cookie: { originalMaxAge: 1_000 } } as never),
    () => own.touch("by-hand", { cookie: { originalMaxAge: 5_000 } } as never),
    async () => {
      const plain = new GenerationStore({ client, touchIntervalMs: 0 });
      const data = await plain.get("by-hand");
      if (data !== null) await plain.touch("by-hand", data);
    },
    // Beyond 2^53 a generation is raised with INCRBY.
    async () => {
      await client.set("user_login_age:200", "99999999999999999");
      await own.logoutEverywhere("200");
    },
    () => own.all(),
    () => own.clear(),
    () => own.logoutEverywhere("100", { replicas: 1, timeoutMs: 10 }),
  ];
  for (const step of steps) await step().catch(() => undefined);
  await own.close();
}
