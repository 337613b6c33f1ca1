import { AsyncLocalStorage } from "node:async_hooks";
import type { SessionData } from "express-session";
import { expect, test } from "vitest";
import { GenerationStore } from "../../src/index.js";
import { sleep, testApp, userOf } from "../support/app.js";
import { freshClient } from "../support/clients.js";
import { escapedFrom } from "../support/process-failures.js";

type Done = (error?: unknown, value?: unknown) => void;

function data(a: unknown): SessionData {
  return { cookie: { originalMaxAge: 60_000 }, a } as unknown as SessionData;
}

/** Every method of the store contract, called with whatever callback it is given. */
const METHODS: Readonly<Record<string, (store: GenerationStore, done: Done | undefined) => unknown>> = {
  get: (store, done) => store.get("known", done as never),
  "get of nothing": (store, done) => store.get("unknown", done as never),
  set: (store, done) => store.set("known", data(2), done),
  "set of a BigInt": (store, done) => store.set("known", data(1n), done),
  "set of null": (store, done) => store.set("known", null as never, done),
  "set of the past": (store, done) => store.set("known", { cookie: { originalMaxAge: -1 } } as never, done),
  touch: (store, done) => store.touch("known", data(1), done),
  "touch of null": (store, done) => store.touch("known", null as never, done),
  destroy: (store, done) => store.destroy("known", done),
  all: (store, done) => store.all(done as never),
  ids: (store, done) => store.ids(done as never),
  length: (store, done) => store.length(done as never),
  clear: (store, done) => store.clear(done),
};

/** Each kind of Redis a call may meet. */
const SERVERS: Readonly<Record<string, (client: Awaited<ReturnType<typeof freshClient>>) => void>> = {
  "a working Redis": () => undefined,
  "a closed connection": (client) => client.disconnect(),
  "a client that throws": (client) => {
    for (const name of ["get", "mget", "del", "pexpire", "pexpireat", "eval", "evalsha", "pipeline"] as const) {
      client[name] = (() => {
        throw new Error("client threw");
      }) as never;
    }
  },
};

async function storeOn(server: string): Promise<GenerationStore> {
  const client = await freshClient();
  await new GenerationStore({ client }).set("known", data(1));
  SERVERS[server]?.(client);
  const commandTimeoutMs = server === "a working Redis" ? 10_000 : 150;
  return new GenerationStore({ client, commandTimeoutMs, touchIntervalMs: 0 });
}

for (const server of Object.keys(SERVERS)) {
  test.each(Object.keys(METHODS))(
    `G10: %s on ${server}: the callback comes once, and not before the call has returned`,
    async (name) => {
      const store = await storeOn(server);
      let calls = 0;
      let returned = false;
      let early = false;
      const escaped = await escapedFrom(async () => {
        const called = new Promise<void>((resolve) => {
          const result = METHODS[name]?.(store, () => {
            calls += 1;
            early ||= !returned;
            resolve();
          });
          expect(result).toBeUndefined();
        });
        returned = true;
        await called;
      });
      expect([calls, early]).toEqual([1, false]);
      expect(escaped).toEqual({ exceptions: [], rejections: [] });
    },
  );

  test(`G10: without a callback each method returns a promise that nobody has to handle, on ${server}`, async () => {
    const escaped = await escapedFrom(async () => {
      for (const method of Object.values(METHODS)) {
        const store = await storeOn(server);
        expect(method(store, undefined)).toBeInstanceOf(Promise);
      }
    }, 250);
    expect(escaped).toEqual({ exceptions: [], rejections: [] });
  });

  test(`G10: a throwing callback is the application's own uncaught exception, once for each call, on ${server}`, async () => {
    const calls = new Map<string, number>();
    const stores = new Map<string, GenerationStore>();
    for (const name of Object.keys(METHODS)) stores.set(name, await storeOn(server));
    const escaped = await escapedFrom(() => {
      for (const [name, store] of stores) {
        METHODS[name]?.(store, () => {
          calls.set(name, (calls.get(name) ?? 0) + 1);
          throw new Error(name);
        });
      }
    }, 400);
    expect(Object.fromEntries(calls)).toEqual(Object.fromEntries(Object.keys(METHODS).map((name) => [name, 1])));
    expect(escaped.exceptions.map((error) => (error as Error).message).sort()).toEqual(Object.keys(METHODS).sort());
    expect(escaped.rejections).toEqual([]);
  });
}

test("G10: requests at once each keep their own AsyncLocalStorage, through read, save, touch, destroy and login", async () => {
  const context = new AsyncLocalStorage<string>();
  const mixed: string[] = [];
  const check = (id: string, where: string): void => {
    if (context.getStore() !== id) mixed.push(`${where}: ${id} saw ${context.getStore()}`);
  };
  const { signedIn, store } = await testApp({ store: { touchIntervalMs: 0 } });
  const devices = await Promise.all(Array.from({ length: 10 }, (_, index) => signedIn(String(index))));
  await store.ids();
  const sids = [...(await store.ids()), ...Array.from({ length: 30 }, (_, index) => `unknown-${index}`)];
  expect(devices).toHaveLength(10);
  await Promise.all(
    sids.map(
      (sid, index) =>
        new Promise<void>((resolve) => {
          const id = `request ${index}`;
          context.run(id, () => {
            store.get(sid, () => {
              check(id, "get");
              store.touch(sid, data(1), () => {
                check(id, "touch");
                store.set(`${sid}-new`, data(1), () => {
                  check(id, "set");
                  store.destroy(`${sid}-new`, () => {
                    check(id, "destroy");
                    store.beginLogin(index).then(() => {
                      check(id, "beginLogin");
                      resolve();
                    }, resolve);
                  });
                });
              });
            });
          });
        }),
    ),
  );
  expect(mixed).toEqual([]);
});

test("G10: 400 pages at once: each handler, and each save, in the context of its own request", async () => {
  const context = new AsyncLocalStorage<string>();
  const { signedIn } = await testApp({
    routes: (app) => {
      app.use("/context", (req, _res, next) => {
        // As a tracing middleware before the session would; here behind it, then again through a reload.
        context.run(req.headers["x-request"] as string, next);
      });
      app.get("/context", (req, res) => {
        const own = req.headers["x-request"];
        req.session.reload((error) => {
          const afterReload = context.getStore();
          req.session["last"] = own;
          req.session.save((saveError) => {
            res.json({ ok: !error && !saveError && afterReload === own && context.getStore() === own });
          });
        });
      });
    },
  });
  const devices = await Promise.all(Array.from({ length: 20 }, (_, index) => signedIn(String(index))));
  for (let round = 0; round < 20; round += 1) {
    const pages = await Promise.all(
      devices.map((device, index) => device.get("/context", { "x-request": `${round}-${index}` })),
    );
    expect(pages.map((page) => page.json())).toEqual(devices.map(() => ({ ok: true })));
  }
});

test("G10: a session() mounted inside the context of a tracing middleware stays in it", async () => {
  const { default: express } = await import("express");
  const { default: session } = await import("express-session");
  const { serve } = await import("../support/serve.js");
  const context = new AsyncLocalStorage<number>();
  const store = new GenerationStore({ client: await freshClient() });
  const app = express();
  let requests = 0;
  app.use((_req, _res, next) => {
    requests += 1;
    context.run(requests, next);
  });
  app.use((req, _res, next) => {
    req.headers["x-context"] = String(context.getStore());
    next();
  });
  app.use(session({ store, secret: "s", resave: false, saveUninitialized: true }));
  app.get("/", (req, res) => {
    res.json(req.headers["x-context"] === String(context.getStore()));
  });
  const base = await serve(app);
  const first = await fetch(base);
  const cookie = (first.headers.getSetCookie()[0] ?? "").split(";")[0] ?? "";
  for (let round = 0; round < 5; round += 1) {
    const answers = await Promise.all(
      Array.from({ length: 40 }, async () => (await fetch(base, { headers: { cookie } })).json()),
    );
    expect(answers.every((answer) => answer === true)).toBe(true);
  }
});

test("G10: Session.destroy(), regenerate and save without a callback cause no unhandled rejection when Redis goes away", async () => {
  const { signedIn, client } = await testApp({
    store: { commandTimeoutMs: 600 },
    routes: (app) => {
      app.post("/drop", (req, res) => {
        client.disconnect();
        req.session["x"] = 1;
        req.session.save();
        req.session.destroy(undefined as never);
        res.json({});
      });
    },
  });
  const device = await signedIn("100");
  const escaped = await escapedFrom(async () => {
    expect((await device.post("/drop")).status).toBe(200);
    await sleep(700);
  });
  expect(escaped).toEqual({ exceptions: [], rejections: [] });
});

test("no `error` event, no `connect`, no `disconnect`: a lost Redis never makes express-session skip sessions", async () => {
  const app = await testApp({ store: { commandTimeoutMs: 1_000 } });
  const device = await app.signedIn("100");
  const emitted: string[] = [];
  for (const event of ["error", "connect", "disconnect"]) app.store.on(event, () => emitted.push(event));
  app.client.disconnect();
  const page = await device.get("/me");
  expect([page.status, page.json()]).toEqual([503, { code: "ERR_REDIS_UNAVAILABLE" }]);
  expect(page.setCookies).toEqual([]);
  await expect(userOf(device)).rejects.toThrow(/503/);
  expect(emitted).toEqual([]);
});
