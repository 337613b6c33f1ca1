import type { Express, Request } from "express";
import { expect, test } from "vitest";
import { sidOf, testApp, userOf } from "../support/app.js";
import { Gate } from "../support/gate.js";
import { jitter, RANDOM, rounds } from "../support/jitter.js";
import { liveSidsOf } from "../support/records.js";

/** A request that ends by making itself a new session and putting its user into it again. */
function addReassign(app: Express, pause: () => Promise<void>): void {
  app.post("/reassign", async (req, res) => {
    const user = req.session["userId"];
    await pause();
    await regenerate(req);
    req.session["userId"] = user;
    res.json({ ok: true });
  });
  app.post("/sign-in/:userId", async (req, res) => {
    await regenerate(req);
    req.session["userId"] = req.params.userId;
    res.json({ ok: true });
  });
  app.post("/regenerate", async (req, res) => {
    await regenerate(req);
    res.json({ ok: true });
  });
}

const regenerate = (req: Request): Promise<void> =>
  new Promise((resolve, reject) => req.session.regenerate((error: unknown) => (error ? reject(error) : resolve())));

const byData = { userId: (session: { readonly [field: string]: unknown }) => session["userId"] as string | undefined };

for (const [name, store] of Object.entries({ "without the userId option": {}, "with the userId option": byData })) {
  test(`G4: regenerate and assigning the user again, ${name}, overtaken by a log out everywhere`, async () => {
    const gate = new Gate();
    const app = await testApp({ store, routes: (express) => addReassign(express, () => gate.pass()) });
    const device = app.browser();
    await device.post("/sign-in/mira");
    if (name.startsWith("without")) await device.post("/login/mira");
    expect(await userOf(device)).toBe("mira");
    const late = device.clone();
    const slow = late.post("/reassign");
    await gate.arrived;
    await app.store.logoutEverywhere("mira");
    gate.open();
    expect((await slow).status).toBe(200);
    expect([await userOf(late), await userOf(device)]).toEqual([null, null]);
    expect(await liveSidsOf(app.client, "mira")).toEqual([]);
    expect(app.errors).toEqual([]);
  });

  for (const logout of ["/logout", "/regenerate"]) {
    test(`G4: regenerate and assigning the user again, ${name}, overtaken by this device's ${logout}`, async () => {
      const gate = new Gate();
      const app = await testApp({ store, routes: (express) => addReassign(express, () => gate.pass()) });
      const device = app.browser();
      await device.post("/sign-in/mira");
      if (name.startsWith("without")) await device.post("/login/mira");
      const late = device.clone();
      const slow = late.post("/reassign");
      await gate.arrived;
      await device.post(logout);
      gate.open();
      expect((await slow).status).toBe(200);
      expect([await userOf(late), await userOf(device)]).toEqual([null, null]);
      expect(await liveSidsOf(app.client, "mira")).toEqual([]);
      expect(app.errors).toEqual([]);
    });
  }
}

test("G4: a logout in another process overtakes regenerate and assigning the user again", async () => {
  const gate = new Gate();
  const app = await testApp({ store: byData, routes: (express) => addReassign(express, () => gate.pass()) });
  const device = app.browser();
  await device.post("/sign-in/mira");
  const slow = device.post("/reassign");
  await gate.arrived;
  // All that another process' logout leaves behind.
  await app.client.del(`session:${sidOf(device)}`);
  gate.open();
  expect((await slow).status).toBe(200);
  expect(await userOf(device)).toBeNull();
  expect(await liveSidsOf(app.client, "mira")).toEqual([]);
});

test("G4: regenerate and assigning the user again keeps a user in whom nobody logs out", async () => {
  const app = await testApp({ store: byData, routes: (express) => addReassign(express, () => Promise.resolve()) });
  const device = app.browser();
  await device.post("/sign-in/mira");
  const before = sidOf(device);
  for (let times = 0; times < 3; times += 1) await device.post("/reassign");
  expect(await userOf(device)).toBe("mira");
  expect(sidOf(device)).not.toBe(before);
  expect(await liveSidsOf(app.client, "mira")).toEqual([sidOf(device)]);
});

test("G4: a login this very request made is not renewed either, once a logout has overtaken it", async () => {
  const gate = new Gate();
  const app = await testApp({
    store: byData,
    routes: (express) => {
      express.post("/twice/:userId", async (req, res) => {
        req.session["userId"] = req.params.userId;
        await new Promise((resolve) => req.session.save(resolve));
        await gate.pass();
        await regenerate(req);
        req.session["userId"] = req.params.userId;
        res.json({ ok: true });
      });
    },
  });
  const device = app.browser();
  const slow = device.post("/twice/mira");
  await gate.arrived;
  await app.store.logoutEverywhere("mira");
  gate.open();
  expect((await slow).status).toBe(200);
  expect(await userOf(device)).toBeNull();
  expect(await liveSidsOf(app.client, "mira")).toEqual([]);
});

test("G4: a user the request left for another and takes up again is not renewed", async () => {
  const gate = new Gate();
  const app = await testApp({
    store: byData,
    routes: (express) => {
      addReassign(express, () => Promise.resolve());
      express.post("/to-and-fro", async (req, res) => {
        const user = req.session["userId"];
        await gate.pass();
        for (const next of ["noor", user]) {
          await regenerate(req);
          req.session["userId"] = next;
          await new Promise((resolve) => req.session.save(resolve));
        }
        res.json({ ok: true });
      });
    },
  });
  const device = app.browser();
  await device.post("/sign-in/mira");
  const slow = device.post("/to-and-fro");
  await gate.arrived;
  await app.store.logoutEverywhere("mira");
  gate.open();
  expect((await slow).status).toBe(200);
  expect(await userOf(device)).toBeNull();
  expect(await liveSidsOf(app.client, "mira")).toEqual([]);
});

test("G4: 200 random requests that re-assign the user while this device or all devices log out", RANDOM, async () => {
  const app = await testApp({ store: byData, routes: (express) => addReassign(express, () => jitter()) });
  await rounds(200, 8, async (index) => {
    const user = `u-${index}`;
    const device = app.browser();
    await device.post(`/sign-in/${user}`);
    const stolen = device.clone();
    const late = [device.clone(), device.clone()];
    const slow = late.map((tab) => tab.post("/reassign"));
    await jitter();
    if (index % 2 === 0) await app.store.logoutEverywhere(user);
    else await app.client.del(`session:${sidOf(device)}`);
    await Promise.all(slow);
    if (index % 2 === 0) expect(await liveSidsOf(app.client, user)).toEqual([]);
    // A session that was exchanged before the logout of the old ID lives on; two of them never do.
    else expect((await liveSidsOf(app.client, user)).length).toBeLessThanOrEqual(1);
    expect(await userOf(stolen)).toBeNull();
  });
  expect(app.errors).toEqual([]);
});
