import session from "express-session";
import { expect, test } from "vitest";
import { insertRecord } from "../../src/session/scripts/insert-record.js";
import { saveRecords } from "../../src/session/scripts/save-records.js";
import { sidOf, testApp, userOf } from "../support/app.js";
import { freshClient } from "../support/clients.js";
import { runs } from "../support/commands.js";
import { Gate } from "../support/gate.js";
import { HeldClient } from "../support/held-client.js";
import { jitter, RANDOM, rounds } from "../support/jitter.js";
import { eventually, liveSidsOf, recordsIn } from "../support/records.js";
import { regenerate, reload, save } from "../support/session-calls.js";

test("G5: two saves in flight on one Session keep their order, each as the data was when it was called", async () => {
  const client = await freshClient();
  const held = new HeldClient(client);
  const { signedIn, errors } = await testApp({
    store: { client: held.client },
    routes: (app) => {
      app.post("/twice", async (req, res) => {
        req.session["step"] = "first";
        const first = save(req);
        req.session["step"] = "second";
        const second = save(req);
        req.session["step"] = "never saved by these";
        await Promise.all([first, second]);
        req.session["step"] = "second";
        res.json({ ok: true });
      });
    },
  });
  const device = await signedIn("mira");
  const key = `session:${sidOf(device)}`;
  const [one, two] = ["first", "second"].map((step) =>
    held.hold((words) => words.some((word) => word.includes(`"step":"${step}"`))),
  );
  if (one === undefined || two === undefined) throw new Error("no gates");
  const page = device.post("/twice");
  await one.arrived;
  one.open();
  await two.arrived;
  expect(await client.get(key)).toContain('"step":"first"');
  two.open();
  expect((await page).status).toBe(200);
  expect(await client.get(key)).toContain('"step":"second"');
  expect(errors).toEqual([]);
});

test("G5: two saves in flight on a new Session make one record, with the later data", async () => {
  const { browser, client, errors } = await testApp({
    routes: (app) => {
      app.post("/twice", async (req, res) => {
        req.session["step"] = "first";
        const first = save(req);
        req.session["step"] = "second";
        await Promise.all([first, save(req)]);
        res.json({ ok: true });
      });
    },
  });
  const device = browser();
  expect((await device.post("/twice")).status).toBe(200);
  expect((await device.get("/me")).json()).toEqual({ user: null, data: { step: "second" } });
  expect(await recordsIn(client)).toHaveLength(1);
  expect(errors).toEqual([]);
});

test("G5: a save that is not awaited does not come after the end of its session", async () => {
  const client = await freshClient();
  const held = new HeldClient(client);
  const { signedIn, errors } = await testApp({
    store: { client: held.client },
    routes: (app) => {
      app.post("/save-and-go", (req, res) => {
        req.session["late"] = "yes";
        req.session.save();
        res.json({ ok: true });
      });
    },
  });
  const device = await signedIn("mira");
  const update = held.hold(runs(saveRecords));
  const tab = device.clone();
  const page = tab.post("/save-and-go");
  await update.arrived;
  await device.post("/logout");
  update.open();
  expect((await page).status).toBe(200);
  expect([await userOf(tab), await userOf(device)]).toEqual([null, null]);
  expect(await recordsIn(client)).toEqual([]);
  expect(errors).toEqual([]);
});

test("G5: a new session that is saved without waiting and destroyed in the same request leaves nothing", async () => {
  const { browser, client, errors } = await testApp({
    store: { userId: (data) => data["userId"] as string | undefined },
    routes: (app) => {
      app.post("/gone", (req, res, next) => {
        req.session["userId"] = "mira";
        req.session.save();
        req.session.destroy((error) => (error ? next(error) : res.json({ ok: true })));
      });
    },
  });
  expect((await browser().post("/gone")).status).toBe(200);
  expect(await eventually(async () => (await recordsIn(client)).length === 0)).toBe(true);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await recordsIn(client)).toEqual([]);
  expect(errors).toEqual([]);
});

test("G5: regenerate, save and send: one record, the new one, with the new data", async () => {
  const { signedIn, client, errors } = await testApp({
    routes: (app) => {
      app.post("/renew", async (req, res) => {
        await regenerate(req);
        req.session["fresh"] = "yes";
        await save(req);
        res.send("done");
      });
    },
  });
  const device = await signedIn("mira");
  const old = sidOf(device);
  const page = await device.post("/renew");
  expect([page.status, page.setCookies.length]).toEqual([200, 1]);
  expect(sidOf(device)).not.toBe(old);
  expect((await device.get("/me")).json()).toEqual({ user: null, data: { fresh: "yes" } });
  expect((await recordsIn(client)).map(({ sid }) => sid)).toEqual([sidOf(device)]);
  expect(errors).toEqual([]);
});

test("G5: reload takes over what another request saved, and saves on top of it", async () => {
  const gate = new Gate();
  const { signedIn, errors } = await testApp({
    routes: (app) => {
      app.post("/reload", async (req, res) => {
        req.session["dropped"] = "yes";
        await gate.pass();
        await reload(req);
        req.session["b"] = "2";
        res.json({ ok: true });
      });
    },
  });
  const device = await signedIn("mira");
  const slow = device.clone().post("/reload");
  await gate.arrived;
  await device.post("/set/a/1");
  gate.open();
  expect((await slow).status).toBe(200);
  expect((await device.get("/me")).json()).toEqual({ user: "mira", data: { a: "1", b: "2" } });
  expect(errors).toEqual([]);
});

for (const ending of ["/logout", "/everywhere", "/rotate"]) {
  test(`G5: reload after ${ending} finds no session, and its request cannot bring it back`, async () => {
    const gate = new Gate();
    const { signedIn, client } = await testApp({
      routes: (app) => {
        app.post("/reload", async (req, res) => {
          await gate.pass();
          const outcome = await reload(req).catch((error: Error) => error.message);
          req.session["b"] = "2";
          await save(req);
          res.json({ outcome });
        });
      },
    });
    const device = await signedIn("mira");
    const tab = device.clone();
    const slow = tab.post("/reload");
    await gate.arrived;
    await device.post(ending);
    gate.open();
    expect((await slow).json()).toEqual({ outcome: "failed to load session" });
    expect(await userOf(tab)).toBeNull();
    expect(await userOf(device)).toBe(ending === "/rotate" ? "mira" : null);
    expect(await liveSidsOf(client, "mira")).toEqual(ending === "/rotate" ? [sidOf(device)] : []);
  });
}

test(
  "G5: set with plain objects while the user logs out: nobody comes back, nobody is logged in by it",
  RANDOM,
  async () => {
    const { signedIn, store, client, errors } = await testApp({ session: { saveUninitialized: false } });
    await rounds(150, 6, async (index) => {
      const user = `u-${index}`;
      const device = await signedIn(user);
      const sid = sidOf(device);
      const data = await store.get(sid);
      const copy = JSON.parse(JSON.stringify(data)) as session.SessionData;
      const ending = index % 3;
      const writes = [1, 2, 3].map(async (step) => {
        await jitter();
        await store.set(sid, { ...copy, step, userId: user, generation: "1" } as session.SessionData);
      });
      await jitter();
      if (ending === 0) await device.post("/logout");
      if (ending === 1) await store.logoutEverywhere(user);
      if (ending === 2) await device.post("/rotate");
      await Promise.all(writes);
      expect(await userOf(device)).toBe(ending === 2 ? user : null);
      expect(await liveSidsOf(client, user)).toEqual(ending === 2 ? [sidOf(device)] : []);
    });
    expect(errors).toEqual([]);
  },
);

test("G5: one store under two session() mounts: each finds, ends and keeps the other's sessions", async () => {
  const warnings: string[] = [];
  const listen = (warning: Error & { code?: string }): unknown => warnings.push(warning.code ?? "");
  process.on("warning", listen);
  const client = await freshClient();
  const { app, store, browser, errors } = await testApp({
    store: { client },
    session: { cookie: { path: "/a" } },
    routes: (express, store) => {
      express.use("/b", session({ store, secret: "test secret", resave: false, saveUninitialized: false }));
      express.post("/b/login/:userId", async (req, res) => {
        await store.login(req, req.params.userId);
        res.json({});
      });
      express.post(["/a/end", "/b/end"], (req, res, next) => {
        req.session.destroy((error) => (error ? next(error) : res.json({})));
      });
      express.get(["/a/me", "/b/me"], async (req, res) => {
        res.json({ current: await store.isCurrent(req) });
      });
    },
  });
  expect(app).toBeDefined();
  const device = browser();
  await device.post("/b/login/mira");
  expect([(await device.get("/a/me")).json(), (await device.get("/b/me")).json()]).toEqual([
    { current: true },
    { current: true },
  ]);
  await device.post("/a/end");
  expect((await device.get("/b/me")).json()).toEqual({ current: false });
  await device.post("/b/login/mira");
  await store.logoutEverywhere("mira");
  expect([(await device.get("/a/me")).json(), (await device.get("/b/me")).json()]).toEqual([
    { current: false },
    { current: false },
  ]);
  process.off("warning", listen);
  expect(warnings).toContain("LOGOUT_EVERYWHERE_SHARED_STORE");
  expect(errors).toEqual([]);
});

test("G5: a new session whose ID is taken meanwhile is not written over what is there", async () => {
  const client = await freshClient();
  const held = new HeldClient(client);
  const { browser, events } = await testApp({ store: { client: held.client }, session: { genid: () => "chosen" } });
  const insert = held.hold(runs(insertRecord));
  const device = browser();
  const page = device.post("/set/a/1");
  await insert.arrived;
  await client.set("session:chosen", "100,1");
  insert.open();
  expect((await page).status).toBe(200);
  expect(await client.get("session:chosen")).toBe("100,1");
  expect(events).toEqual(["fenced:ended"]);
});
