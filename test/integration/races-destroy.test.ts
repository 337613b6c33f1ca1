import type { Request, Response } from "express";
import { expect, test } from "vitest";
import { sidOf, testApp, userOf } from "../support/app.js";
import type { Browser } from "../support/browser.js";
import { Gate } from "../support/gate.js";
import { jitter, RANDOM, rounds } from "../support/jitter.js";
import { liveSidsOf, recordsIn } from "../support/records.js";

type Work = (req: Request, res: Response) => Promise<void> | void;

const save = (req: Request): Promise<void> =>
  new Promise((resolve, reject) => req.session.save((error: unknown) => (error ? reject(error) : resolve())));

const regenerate = (req: Request): Promise<void> =>
  new Promise((resolve, reject) => req.session.regenerate((error: unknown) => (error ? reject(error) : resolve())));

const WRITES: Readonly<Record<string, Work>> = {
  "a change": (req) => {
    req.session["last"] = "report";
  },
  "a change and an explicit save": async (req) => {
    req.session["last"] = "report";
    await save(req);
  },
  "no change": () => undefined,
};

const LOGOUTS: Readonly<Record<string, Work>> = {
  "destroy()": (req) => new Promise((resolve) => req.session.destroy(() => resolve())),
  "regenerate()": regenerate,
};

for (const [writeName, write] of Object.entries(WRITES)) {
  for (const [logoutName, logout] of Object.entries(LOGOUTS)) {
    for (const settings of [{}, { rolling: true }, { resave: true, rolling: true }]) {
      test(`C01: ${logoutName} while a request with ${writeName} is in flight, ${JSON.stringify(settings)}`, async () => {
        const gate = new Gate();
        const { signedIn, client, errors } = await testApp({
          session: settings,
          routes: (app) => {
            app.get("/slow", async (req, res) => {
              await gate.pass();
              await write(req, res);
              res.json({ ok: true });
            });
            app.post("/logout-here", async (req, res) => {
              await logout(req, res);
              res.json({ ok: true });
            });
          },
        });
        const device = await signedIn("u-42");
        const other = await signedIn("u-42");
        const sid = sidOf(device);
        const stolen = device.clone();
        const slow = device.clone().get("/slow");
        await gate.arrived;
        expect((await device.post("/logout-here")).status).toBe(200);
        gate.open();
        const page = await slow;
        expect(page.status).toBe(200);
        expect(page.setCookies).toEqual([]);
        expect(await userOf(stolen)).toBeNull();
        expect(await userOf(device)).toBeNull();
        expect(await userOf(other)).toBe("u-42");
        expect(await client.exists(`session:${sid}`)).toBe(0);
        expect(await liveSidsOf(client, "u-42")).toEqual([sidOf(other)]);
        expect(errors).toEqual([]);
      });
    }
  }
}

test(
  "C01: 200 random interleavings of destroy and slow requests; nobody comes back, no other device is hurt",
  RANDOM,
  async () => {
    const { signedIn, client, errors } = await testApp({
      session: { rolling: true },
      routes: (app) => {
        app.get("/slow/:write", async (req, res) => {
          await jitter();
          await Object.values(WRITES)[Number(req.params.write)]?.(req, res);
          await jitter(4);
          res.json({ ok: true });
        });
      },
    });
    const done = await rounds(200, 8, async (index) => {
      const user = `u-${index}`;
      const [device, other] = await Promise.all([signedIn(user), signedIn(user)]);
      const stolen = device.clone();
      const slow = [0, 1, 2].map((write) => device.clone().get(`/slow/${write}`));
      await jitter();
      expect((await device.post("/logout")).status).toBe(200);
      expect((await Promise.all(slow)).map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(await userOf(stolen)).toBeNull();
      expect(await userOf(other)).toBe(user);
      expect(await liveSidsOfUser(user, other)).toBe(true);
    });
    expect(errors).toEqual([]);
    expect((await recordsIn(client)).filter(({ user }) => user !== "")).toHaveLength(done);

    async function liveSidsOfUser(user: string, device: Browser): Promise<boolean> {
      const [text] = await client.mget(`session:${sidOf(device)}`);
      return text?.startsWith(`${user},`) ?? false;
    }
  },
);

test("C05: the end of a long poll that changed nothing keeps what was changed meanwhile", async () => {
  const gate = new Gate();
  const { signedIn, errors } = await testApp({
    store: { touchIntervalMs: 0 },
    session: { resave: true },
    routes: (app) => app.get("/poll", (_req, res) => void gate.pass().then(() => res.json({ ok: true }))),
  });
  const device = await signedIn("mira");
  const poll = device.clone().get("/poll");
  await gate.arrived;
  await device.post("/set/seen/yes");
  gate.open();
  expect((await poll).status).toBe(200);
  expect((await device.get("/me")).json()).toEqual({ user: "mira", data: { seen: "yes" } });
  expect(errors).toEqual([]);
});

test("C05: the end of a long poll makes no key for a session that was destroyed", async () => {
  const gate = new Gate();
  const { signedIn, client } = await testApp({
    store: { touchIntervalMs: 0 },
    routes: (app) => app.get("/poll", (_req, res) => void gate.pass().then(() => res.json({ ok: true }))),
  });
  const device = await signedIn("mira");
  const poll = device.clone().get("/poll");
  await gate.arrived;
  await device.post("/logout");
  gate.open();
  expect((await poll).status).toBe(200);
  expect(await recordsIn(client)).toEqual([]);
});

test("C05: a long poll that ends after a log out everywhere leaves the record dead", async () => {
  const gate = new Gate();
  const { signedIn, client } = await testApp({
    store: { touchIntervalMs: 0 },
    routes: (app) => app.get("/poll", (_req, res) => void gate.pass().then(() => res.json({ ok: true }))),
  });
  const device = await signedIn("mira");
  const poll = device.clone().get("/poll");
  await gate.arrived;
  await client.incr("user_login_age:mira");
  gate.open();
  expect((await poll).status).toBe(200);
  expect(await userOf(device)).toBeNull();
  expect(await liveSidsOf(client, "mira")).toEqual([]);
});

test("C05: 200 random long polls beside changes, none is undone", RANDOM, async () => {
  const { signedIn, errors } = await testApp({
    store: { touchIntervalMs: 0 },
    session: { resave: true, rolling: true },
    routes: (app) => {
      app.get("/poll", async (_req, res) => {
        await jitter();
        res.json({ ok: true });
      });
    },
  });
  await rounds(200, 8, async (index) => {
    const device = await signedIn(`u-${index}`);
    const polls = [device.clone(), device.clone(), device.clone()].map((tab) => tab.get("/poll"));
    await jitter();
    await device.post("/set/seen/yes");
    await Promise.all(polls);
    expect((await device.get("/me")).json()).toEqual({ user: `u-${index}`, data: { seen: "yes" } });
  });
  expect(errors).toEqual([]);
});
