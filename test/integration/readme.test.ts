import { rmSync, writeFileSync } from "node:fs";
import type { Server } from "node:http";
import { join } from "node:path";
import type { Redis } from "ioredis";
import { expect, onTestFinished, test, vi } from "vitest";
import type { GenerationStore } from "../../src/index.js";
import { Browser } from "../support/browser.js";
import { freshDatabase } from "../support/clients.js";
import { ROOT, snippetsOf } from "../support/snippets.js";

interface Application {
  readonly store: GenerationStore;
  readonly client: Redis;
  readonly server: Server;
}

/** Runs the README's set-up with its recipes, word for word, but for the address of the library and a free port. */
async function readmeApplication(): Promise<string> {
  const blocks = snippetsOf("README.md").filter(({ alone, code }) => !alone && !code.includes("createServer"));
  const code = blocks
    .map((block) => block.code)
    .join("\n")
    .replace('"logout-everywhere"', JSON.stringify(join(ROOT, "src/index.js")))
    .replace("app.listen(", "export const server = app.listen(");
  const file = join(ROOT, "test/integration", `readme-application-${process.pid}.ts`);
  writeFileSync(file, `// Made by readme.test.ts for a moment.\n${code}\nexport { client, store };\n`);
  const { port, db } = await freshDatabase();
  vi.stubEnv("REDIS_URL", `redis://127.0.0.1:${port}/${db}`);
  vi.stubEnv("SESSION_SECRET", "a long random text");
  vi.stubEnv("PORT", "0");
  let application: Application;
  try {
    application = await import(file);
  } finally {
    rmSync(file);
    vi.unstubAllEnvs();
  }
  const { server, client, store } = application;
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await store.close();
    client.disconnect();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return `http://127.0.0.1:${address.port}`;
}

test("docs: the README's set-up and recipes do what the README says", async () => {
  const base = await readmeApplication();
  const signIn = async (email: string, password: string): Promise<Browser> => {
    const browser = new Browser(base);
    const page = await browser.post("/sign-in", { email, password });
    if (page.status !== 303) throw new Error(`sign-in answered ${page.status}`);
    return browser;
  };
  const mira = (password = "correct horse"): Promise<Browser> => signIn("mira@example.org", password);
  const account = async (browser: Browser): Promise<number> => (await browser.get("/account")).status;

  await expect(mira("wrong")).rejects.toThrow("sign-in answered 401");
  const [phone, laptop] = [await mira(), await mira()];
  expect((await phone.get("/account")).text).toBe("You are user 100");

  expect((await phone.post("/change-password", { current: "wrong", next: "x" })).status).toBe(403);
  expect(await account(laptop)).toBe(200);
  expect((await phone.post("/change-password", { current: "correct horse", next: "new one" })).status).toBe(303);
  expect([await account(phone), await account(laptop)]).toEqual([200, 401]);
  await expect(mira()).rejects.toThrow("sign-in answered 401");

  const tablet = await mira("new one");
  expect((await tablet.post("/log-out-everywhere")).status).toBe(303);
  expect([await account(phone), await account(tablet)]).toEqual([401, 401]);

  const [victim, admin] = [await mira("new one"), await signIn("admin@example.org", "battery staple")];
  expect((await victim.post("/admin/log-out/1")).status).toBe(403);
  expect((await admin.post("/admin/log-out/100")).text).toBe('{"loggedOut":true}');
  expect([await account(victim), await account(admin)]).toEqual([401, 200]);
  expect((await admin.post("/sign-out")).status).toBe(303);
  expect(await account(admin)).toBe(401);
});
