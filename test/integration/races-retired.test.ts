import type { Request } from "express";
import { expect, test } from "vitest";
import { type GenerationStore, loginOf } from "../../src/index.js";
import { sidOf, type TestApp, testApp, userOf } from "../support/app.js";
import { freshClient } from "../support/clients.js";
import { named } from "../support/commands.js";
import { Gate } from "../support/gate.js";
import { HeldClient } from "../support/held-client.js";
import { jitter, RANDOM, rounds } from "../support/jitter.js";
import { recordsIn } from "../support/records.js";

/** What ends a session ID, and who the browser is afterwards. */
const ENDINGS = [
  { path: "/login/noor", after: "noor" },
  { path: "/rotate", after: "mira" },
  { path: "/others", after: "mira" },
  { path: "/logout", after: null },
] as const;

const SETTINGS = [{ rolling: true }, { rolling: false }, { rolling: true, resave: true }];

function slowApp(pass: () => Promise<void>, settings: object): Promise<TestApp> {
  return testApp({
    store: { touchIntervalMs: 0 },
    session: { cookie: { maxAge: 60_000 }, ...settings },
    routes: (app) => {
      let answers = 0;
      app.use((_req, res, next) => {
        const writeHead = res.writeHead.bind(res) as (...args: unknown[]) => typeof res;
        res.writeHead = (...args: unknown[]) => {
          answers += 1;
          res.setHeader("X-Answer", answers);
          return writeHead(...args);
        };
        next();
      });
      app.get("/slow/:change", async (req, res) => {
        if (loginOf(req) !== undefined) res.setHeader("X-Loaded", "yes");
        await pass();
        if (req.params.change === "write") req.session["late"] = "yes";
        res.json({ ok: true });
      });
    },
  });
}

for (const { path, after } of ENDINGS) {
  for (const settings of SETTINGS) {
    for (const change of ["write", "read"]) {
      test(`G6: a slow request (${change}, ${JSON.stringify(settings)}) ends after ${path} retired its ID`, async () => {
        const gate = new Gate();
        const { signedIn, client, errors } = await slowApp(() => gate.pass(), settings);
        const device = await signedIn("mira");
        const old = sidOf(device);
        const tab = device.clone();
        const slow = tab.get(`/slow/${change}`);
        await gate.arrived;
        expect((await device.post(path)).status).toBe(200);
        gate.open();
        const page = await slow;
        expect(page.status).toBe(200);
        expect(page.setCookies).toEqual([]);
        // One browser: the late answer is the last thing that may touch its cookies.
        expect(await userOf(device)).toBe(after);
        expect(await userOf(tab)).toBeNull();
        expect(await client.exists(`session:${old}`)).toBe(0);
        const records = await recordsIn(client);
        expect(records.map(({ sid }) => sid)).toEqual(after === null ? [] : [sidOf(device)]);
        expect(records.map(({ text }) => text.includes("late"))).toEqual(after === null ? [] : [false]);
        expect(errors).toEqual([]);
      });
    }
  }
}

test("G6: a request whose read was answered just before its ID was retired sends no cookie either", async () => {
  const client = await freshClient();
  const held = new HeldClient(client);
  const { signedIn, errors } = await testApp({ store: { client: held.client }, session: { rolling: true } });
  const device = await signedIn("mira");
  const reply = held.holdReply(named("mget", sidOf(device)));
  const late = device.clone().get("/me");
  await reply.arrived;
  expect((await device.post("/login/noor")).status).toBe(200);
  reply.open();
  const page = await late;
  expect(page.status).toBe(200);
  expect(page.setCookies).toEqual([]);
  expect(await userOf(device)).toBe("noor");
  expect(errors).toEqual([]);
});

test("G6: in an explicit save the ended session is not written either", async () => {
  const gate = new Gate();
  const { signedIn, client, events } = await testApp({
    routes: (app) => {
      app.get("/slow", async (req, res) => {
        await gate.pass();
        req.session["late"] = "yes";
        await save(req);
        res.json({ ok: true });
      });
    },
  });
  const device = await signedIn("mira");
  const slow = device.clone().get("/slow");
  await gate.arrived;
  await device.post("/rotate");
  gate.open();
  expect((await slow).status).toBe(200);
  expect(await userOf(device)).toBe("mira");
  expect((await recordsIn(client)).map(({ sid }) => sid)).toEqual([sidOf(device)]);
  expect(events).toEqual(["fenced:ended"]);
});

test("G6: an exchange of the ID in a request whose session was ended is refused, and the owner stays in", async () => {
  const gates = [new Gate(), new Gate()];
  let arrivals = 0;
  const pass = async (): Promise<void> => {
    arrivals += 1;
    await gates[arrivals - 1]?.pass();
  };
  const { signedIn, client } = await testApp({ routes: (app, store) => addLateExchanges(store, app, pass) });
  const device = await signedIn("mira");
  const late = ["/late/rotate", "/late/others"].map((path) => device.clone().post(path));
  for (const gate of gates) await gate.arrived;
  await device.post("/rotate");
  for (const gate of gates) gate.open();
  expect((await Promise.all(late)).map(({ status }) => status)).toEqual([409, 409]);
  expect(await userOf(device)).toBe("mira");
  expect((await recordsIn(client)).map(({ sid }) => sid)).toEqual([sidOf(device)]);
});

test("G6: the sign-in form sent twice with one session signs in twice, not to an error page", async () => {
  const gate = new Gate();
  const { browser, client, errors } = await testApp({
    routes: (app, store) => addLateExchanges(store, app, () => gate.pass()),
  });
  const device = browser();
  await device.post("/set/cart/full");
  const second = device.clone();
  const late = second.post("/late/login");
  await gate.arrived;
  expect((await device.post("/login/mira")).status).toBe(200);
  gate.open();
  expect((await late).status).toBe(200);
  expect([await userOf(device), await userOf(second)]).toEqual(["mira", "mira"]);
  expect(await recordsIn(client)).toHaveLength(2);
  expect(errors).toEqual([]);
});

test(
  "G6: 200 random rounds of slow requests beside an exchange of the ID: the browser stays signed in",
  RANDOM,
  async () => {
    const { signedIn, errors } = await slowApp(() => jitter(), { rolling: true });
    await rounds(200, 8, async (index) => {
      const device = await signedIn("mira-".concat(String(index)));
      const { path } = ENDINGS[index % 3] ?? ENDINGS[0];
      const pages = ["write", "read", "write"].map((change) => device.clone().get(`/slow/${change}`));
      await jitter(6);
      const [exchange, ...slow] = await Promise.all([device.post(path), ...pages]);
      expect(exchange.status).toBe(200);
      for (const page of slow) {
        expect(page.status).toBe(200);
        const isLate = Number(page.headers.get("X-Answer")) > Number(exchange.headers.get("X-Answer"));
        if (isLate && page.headers.has("X-Loaded")) expect(page.setCookies).toEqual([]);
      }
      expect(await userOf(device)).toBe(path === "/login/noor" ? "noor" : `mira-${index}`);
    });
    expect(errors).toEqual([]);
  },
);

function save(req: Request): Promise<void> {
  return new Promise((resolve, reject) => req.session.save((error: unknown) => (error ? reject(error) : resolve())));
}

function addLateExchanges(store: GenerationStore, app: TestApp["app"], pass: () => Promise<void>): void {
  app.post("/late/rotate", async (req, res) => {
    await pass();
    await store.rotate(req);
    res.json({});
  });
  app.post("/late/others", async (req, res) => {
    await pass();
    res.json(await store.logoutOthers(req));
  });
  app.post("/late/login", async (req, res) => {
    const attempt = await store.beginLogin("mira");
    await pass();
    await store.login(req, attempt);
    res.json({});
  });
}
