import type { Redis } from "ioredis";
import { expect, test } from "vitest";
import { clientOnOwnServer, commandCalls, resetCommandCalls } from "../support/command-stats.js";
import { submit, type TokenApp, tokenApp, tokenFor } from "../support/token-app.js";

/** Calls of one kind of request: what clients sent, and what scripts did inside the server. */
interface Cost {
  readonly sent: Readonly<Record<string, number>>;
  readonly total: Readonly<Record<string, number>>;
}

/** All commands that arrive at the server while `act` runs; MONITOR marks those that scripts call with "lua". */
async function costOf(client: Redis, act: () => Promise<unknown>): Promise<Cost> {
  const monitor = await client.monitor();
  const sent: Record<string, number> = {};
  let isOver = false;
  const ended = new Promise<void>((resolve) => {
    monitor.on("monitor", (_time: string, [name = "", text]: string[], source: string) => {
      if (text === "the end") {
        isOver = true;
        resolve();
      } else if (!isOver && source !== "lua" && !["config", "info"].includes(name.toLowerCase())) {
        sent[name.toLowerCase()] = (sent[name.toLowerCase()] ?? 0) + 1;
      }
    });
  });
  await resetCommandCalls(client);
  await act();
  const calls = await commandCalls(client);
  await client.echo("the end");
  await ended;
  monitor.disconnect();
  return { sent, total: Object.fromEntries([...calls].filter(([name]) => name !== "monitor")) };
}

/** What `after` has more than `before`, names without a difference left out. */
function beyond(before: Readonly<Record<string, number>>, after: Readonly<Record<string, number>>) {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const differences = [...names].map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)] as const);
  return Object.fromEntries(differences.filter(([, difference]) => difference !== 0));
}

/** An app whose scripts and clocks are known, and what a POST without a guard costs it: the session's own commands. */
async function warmShop(kind: "visitor" | "user") {
  const client = await clientOnOwnServer();
  const shop: TokenApp = await tokenApp({
    store: { client: client as never },
    before: (app, tokens) => {
      app.post("/free", (_req, res) => void res.json({}));
      app.get("/late", async (req, res) => void res.send(await tokens.issue(req, { ttlMs: 10 })));
    },
  });
  const device = kind === "user" ? await shop.signedIn("mira") : shop.browser();
  const spent = await tokenFor(device);
  await submit(device, spent);
  const free = await costOf(client, () => device.post("/free"));
  return { client, shop, device, spent, free };
}

test.each(["visitor", "user"] as const)(
  "R-T4: a good token of a %s costs one round trip beyond the session's own, so does a spent one",
  async (kind) => {
    const { client, device, spent, free } = await warmShop(kind);
    // One read: the session of a visitor, and with it the generation of a user.
    expect(free.sent).toEqual({ mget: 1 });
    const token = await tokenFor(device);
    const good = await costOf(client, () => submit(device, token));
    expect(beyond(free.sent, good.sent)).toEqual({ evalsha: 1 });
    expect(beyond(free.total, good.total)).toEqual({ evalsha: 1, time: 1, get: 1, pttl: 1, set: 1 });
    const again = await costOf(client, () => submit(device, spent));
    expect(beyond(free.sent, again.sent)).toEqual({ evalsha: 1 });
    expect(beyond(free.total, again.total)).toEqual({ evalsha: 1, time: 1, get: 1 });
  },
);

test("R-T5: what cannot be the session's token costs no command at all beyond the session's own", async () => {
  const { client, shop, device, free } = await warmShop("user");
  const stranger = await shop.signedIn("noor");
  const foreign = await tokenFor(stranger);
  const token = await tokenFor(device);
  const late = (await device.get("/late")).text;
  await new Promise((resolve) => setTimeout(resolve, 10));
  const cases: Record<string, () => Promise<{ readonly status: number }>> = {
    missing: () => device.post("/submit"),
    nonsense: () => submit(device, "nonsense"),
    forged: () => submit(device, `${token.slice(0, -8)}AAAAAAAA`),
    foreign: () => submit(device, foreign),
    expired: () => submit(device, late),
    list: () => device.post("/submit", { "_submit_token[]": token }),
    object: () => device.post("/submit", { "_submit_token[a]": token }),
    query: () => device.post(`/submit?_submit_token=${token}`),
    megabyte: () => submit(device, "v1.".padEnd(1_000_000, "a")),
    different: () => submit(device, token, { "X-Submit-Token": foreign }),
    elsewhere: () => submit(device, token, { "sec-fetch-site": "cross-site" }),
  };
  for (const [name, act] of Object.entries(cases)) {
    let status = 0;
    const cost = await costOf(client, async () => {
      status = (await act()).status;
    });
    expect([name, status, beyond(free.sent, cost.sent), beyond(free.total, cost.total)]).toEqual([name, 403, {}, {}]);
  }
  expect((await submit(device, token)).status).toBe(200);
});

test("R-T4: a POST without a session cookie asks Redis for nothing", async () => {
  const { client, shop } = await warmShop("visitor");
  const token = await tokenFor(shop.browser());
  const cost = await costOf(client, () => submit(shop.browser(), token));
  expect([cost.sent, cost.total]).toEqual([{}, {}]);
});
