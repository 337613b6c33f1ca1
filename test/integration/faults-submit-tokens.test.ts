import { expect, test } from "vitest";
import { spendToken } from "../../src/submit-token/scripts/spend-token.js";
import { runs } from "../support/commands.js";
import { clientOf, faultyServer } from "../support/faulty-server.js";
import { proxiedClient } from "../support/proxied-app.js";
import { DUPLICATE, submit, tokenApp, tokenFor } from "../support/token-app.js";

for (const isResent of [true, false]) {
  for (const fault of ["cutAfter", "cutBefore"] as const) {
    test(`R-T4: a broken connection at the spend (${fault}, autoResendUnfulfilledCommands: ${isResent})`, async () => {
      const { proxy, proxied } = await proxiedClient({ autoResendUnfulfilledCommands: isResent });
      const shop = await tokenApp({ store: { client: proxied }, tokens: { commandTimeoutMs: 5_000 } });
      const device = shop.browser();
      await submit(device, await tokenFor(device));
      const token = await tokenFor(device);
      const happened = proxy[fault](runs(spendToken, token));
      const startedAtMs = performance.now();
      const page = await submit(device, token);
      await happened;
      // Without re-sending the driver says nothing of the lost command: the library asks again, as the connection is new.
      expect([page.status, shop.runs()]).toEqual([200, 2]);
      expect(performance.now() - startedAtMs).toBeLessThan(4_000);
      expect((await submit(device, token)).text).toBe(DUPLICATE);
      expect(shop.runs()).toBe(2);
    });
  }
}

test("R-T4: SCRIPT FLUSH changes nothing", async () => {
  const { proxied, client } = await proxiedClient();
  const { browser } = await tokenApp({ store: { client: proxied } });
  const device = browser();
  const token = await tokenFor(device);
  await client.script("FLUSH");
  expect((await submit(device, token)).status).toBe(200);
  await client.script("FLUSH");
  expect((await submit(device, token)).text).toBe(DUPLICATE);
});

test("R-T4, G7: Redis hangs at the spend: 503, the handler does not run, and the token is good again after", async () => {
  const { proxy, proxied, client } = await proxiedClient();
  const shop = await tokenApp({ store: { client }, tokens: { client: proxied, commandTimeoutMs: 300 } });
  const device = shop.browser();
  const token = await tokenFor(device);
  proxy.stall();
  const page = await submit(device, token);
  expect([page.status, shop.runs()]).toEqual([503, 0]);
  proxy.resume();
  await expect.poll(() => submit(device, token).then(({ status }) => status)).toBe(200);
  expect((await submit(device, token)).text).toBe(DUPLICATE);
  expect(shop.runs()).toBe(1);
});

test("R-T4: a full Redis issues nothing, but a token from before passes once", async () => {
  const server = await faultyServer(["--maxmemory-policy", "noeviction"]);
  const shop = await tokenApp({ store: { client: clientOf(server) } });
  const device = shop.browser();
  const token = await tokenFor(device);
  await server.root.config("SET", "maxmemory", "1");
  expect((await device.get("/token")).status).toBe(503);
  expect((await submit(device, token)).status).toBe(200);
  expect((await submit(device, token)).text).toBe(DUPLICATE);
  expect(shop.runs()).toBe(1);
});
