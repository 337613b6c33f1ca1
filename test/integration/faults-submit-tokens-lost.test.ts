import { expect, test } from "vitest";
import { insertToken } from "../../src/submit-token/scripts/insert-token.js";
import { listToken } from "../../src/submit-token/scripts/list-token.js";
import { spendToken } from "../../src/submit-token/scripts/spend-token.js";
import { commandCalls, resetCommandCalls } from "../support/command-stats.js";
import { runs } from "../support/commands.js";
import { clientOf, faultyServer } from "../support/faulty-server.js";
import { proxiedClient } from "../support/proxied-app.js";
import { DUPLICATE, submit, tokenApp, tokenFor } from "../support/token-app.js";

for (const isResent of [true, false]) {
  for (const fault of ["cutAfter", "cutBefore"] as const) {
    for (const script of [listToken, insertToken]) {
      test(`R-T1: a broken connection at the issue (${script.name}, ${fault}, autoResendUnfulfilledCommands: ${isResent}): a token that works, or none`, async () => {
        const { proxy, proxied, client } = await proxiedClient({ autoResendUnfulfilledCommands: isResent });
        const tokens = { client: proxied, commandTimeoutMs: isResent ? 5_000 : 1_000 };
        const { browser, runs: handlerRuns } = await tokenApp({ store: { client }, tokens });
        const device = browser();
        await tokenFor(device);
        const happened = proxy[fault](runs(script));
        const page = await device.get("/token");
        await happened;
        expect(page.status).toBe(isResent ? 200 : 503);
        if (page.status === 503) expect(page.json()).toEqual({ code: "ERR_REDIS_TIMEOUT" });
        const token = page.status === 200 ? page.text : await tokenFor(device);
        expect((await submit(device, token)).text).toBe('{"ok":true}');
        expect((await submit(device, token)).text).toBe(DUPLICATE);
        expect(handlerRuns()).toBe(1);
      });
    }
  }
}

test("R-T4: a spend that the driver sends again after its time has no effect, and the token passes once after", async () => {
  const server = await faultyServer();
  const { proxy, proxied, client } = await proxiedClient({}, server.port);
  const shop = await tokenApp({ store: { client }, tokens: { client: proxied, commandTimeoutMs: 300 } });
  const device = shop.browser();
  await submit(device, await tokenFor(device));
  const token = await tokenFor(device);
  const key = `submit:token:${token}`;
  const live = await client.get(key);
  proxy.stall();
  expect((await submit(device, token)).status).toBe(503);
  // The token is given back, in vain so far; that too is over before the connection works.
  await new Promise((resolve) => setTimeout(resolve, 350));
  let resent = 0;
  const isSpend = runs(spendToken, token);
  const watch = (words: readonly string[]): boolean => {
    if (isSpend(words)) resent += 1;
    return false;
  };
  proxy.cutBefore(watch).catch(() => undefined);
  await resetCommandCalls(server.root);
  proxy.resume();
  await expect.poll(() => resent, { timeout: 3_000 }).toBe(1);
  await proxied.ping();
  const calls = await commandCalls(server.root);
  expect([calls.get("set"), calls.get("del")]).toEqual([undefined, undefined]);
  expect(await client.get(key)).toBe(live);
  expect(shop.runs()).toBe(1);
  expect((await submit(device, token)).status).toBe(200);
  expect((await submit(device, token)).text).toBe(DUPLICATE);
  expect(shop.runs()).toBe(2);
});

test("R-T5: a token that Redis evicted is unknown: 403, the handler does not run, and a fresh one passes", async () => {
  const { client } = await proxiedClient();
  const server = await faultyServer(["--maxmemory-policy", "allkeys-lru", "--maxmemory-samples", "10"]);
  const shop = await tokenApp({ store: { client }, tokens: { client: clientOf(server) } });
  const device = shop.browser();
  const token = await tokenFor(device);
  const key = `submit:token:${token}`;
  const used = Number(/^used_memory:(\d+)/m.exec(await server.root.info("memory"))?.[1]);
  await server.root.config("SET", "maxmemory", String(used + 2_000_000));
  const filler = "x".repeat(20_000);
  for (let index = 0; index < 5_000 && (await server.root.exists(key)) === 1; index += 1) {
    await server.root.set(`other:${index}`, filler);
  }
  expect(await server.root.exists(key)).toBe(0);
  const page = await submit(device, token);
  expect([page.status, page.text, shop.runs()]).toEqual([403, '{"error":"submit_token_unknown"}', 0]);
  expect(await server.root.exists(key)).toBe(0);
  await server.root.config("SET", "maxmemory", "0");
  expect((await submit(device, await tokenFor(device))).status).toBe(200);
});

test("R-T4: without re-sending, a connection that stays down past the deadline: 503, and the token passes after", async () => {
  const { proxy, proxied, client } = await proxiedClient({ autoResendUnfulfilledCommands: false });
  const shop = await tokenApp({ store: { client }, tokens: { client: proxied, commandTimeoutMs: 400 } });
  const device = shop.browser();
  await submit(device, await tokenFor(device));
  const token = await tokenFor(device);
  const happened = proxy.cutAfter((words) => {
    const isCut = runs(spendToken, token)(words);
    if (isCut) proxy.stall();
    return isCut;
  });
  const page = await submit(device, token);
  await happened;
  expect([page.status, shop.runs()]).toEqual([503, 1]);
  proxy.resume();
  // The request that was answered with 503 gives its token back as soon as it can.
  await expect.poll(() => client.get(`submit:token:${token}`), { timeout: 3_000 }).not.toMatch(/^spent/);
  expect((await submit(device, token)).status).toBe(200);
  expect((await submit(device, token)).text).toBe(DUPLICATE);
  expect(shop.runs()).toBe(2);
});
