import { expect, test } from "vitest";
import { fadeRecord } from "../../src/session/scripts/fade-record.js";
import { raiseGeneration } from "../../src/session/scripts/raise-generation.js";
import { takeRecord } from "../../src/session/scripts/take-record.js";
import { sidOf, type TestApp, testApp, userOf } from "../support/app.js";
import type { Browser } from "../support/browser.js";
import { freshClient } from "../support/clients.js";
import { runs } from "../support/commands.js";
import { HeldClient } from "../support/held-client.js";
import { jitter, RANDOM, rounds } from "../support/jitter.js";
import { eventually, liveSidsOf, recordsIn } from "../support/records.js";

async function heldApp(): Promise<TestApp & { held: HeldClient }> {
  const client = await freshClient();
  const held = new HeldClient(client);
  return { ...(await testApp({ store: { client: held.client } })), client, held };
}

/** Owner and thief, on two sessions or on one cookie. */
async function pair(app: TestApp, kind: string): Promise<[owner: Browser, thief: Browser]> {
  const owner = await app.signedIn("mira");
  return [owner, kind === "separate sessions" ? await app.signedIn("mira") : owner.clone()];
}

for (const kind of ["separate sessions", "a stolen cookie"]) {
  test(`G6: the owner logs out others while the thief's call is held up, ${kind}: the thief goes`, async () => {
    const app = await heldApp();
    const [owner, thief] = await pair(app, kind);
    const gate = app.held.hold(runs(raiseGeneration));
    const late = thief.post("/others");
    await gate.arrived;
    expect((await owner.post("/others")).status).toBe(200);
    gate.open();
    expect((await late).status).toBe(409);
    expect([await userOf(owner), await userOf(thief)]).toEqual(["mira", null]);
    expect(await liveSidsOf(app.client, "mira")).toEqual([sidOf(owner)]);
  });

  test(`G6: the thief's call is first, ${kind}: the owner is told, signs in again and ousts the thief`, async () => {
    const app = await heldApp();
    const [owner, thief] = await pair(app, kind);
    const gate = app.held.hold(runs(raiseGeneration));
    const late = owner.post("/others");
    await gate.arrived;
    expect((await thief.post("/others")).status).toBe(200);
    gate.open();
    expect((await late).json()).toEqual({ code: "ERR_LOGIN_SUPERSEDED" });
    expect(await liveSidsOf(app.client, "mira")).toEqual([sidOf(thief)]);
    await owner.post("/login/mira");
    expect((await owner.post("/others")).status).toBe(200);
    expect([await userOf(owner), await userOf(thief)]).toEqual(["mira", null]);
    expect(await liveSidsOf(app.client, "mira")).toEqual([sidOf(owner)]);
  });

  test(`G6: 100 random presses by owner and thief at once, ${kind}: exactly one session is left`, RANDOM, async () => {
    const app = await testApp();
    const done = await rounds(100, 6, async (index) => {
      const user = `u-${index}`;
      const owner = await app.signedIn(user);
      const thief = kind === "separate sessions" ? await app.signedIn(user) : owner.clone();
      const pages = await Promise.all(
        [owner, thief].map(async (browser) => {
          await jitter(4);
          return browser.post("/others");
        }),
      );
      // 401: the other was through before this one was read.
      expect(pages.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(pages.every(({ status }) => [200, 401, 409].includes(status))).toBe(true);
      const winner = pages[0]?.status === 200 ? owner : thief;
      expect(await userOf(winner)).toBe(user);
      expect(await userOf(winner === owner ? thief : owner)).toBeNull();
    });
    expect((await recordsIn(app.client)).filter(({ isLive }) => isLive)).toHaveLength(done);
  });
}

test("G6: reads right after the bump see a dead session, and do not keep logoutOthers from ending well", async () => {
  const app = await heldApp();
  const owner = await app.signedIn("mira");
  const gate = app.held.hold(runs(takeRecord));
  const pressed = owner.post("/others");
  await gate.arrived;
  const tabs = [owner.clone(), owner.clone(), owner.clone()];
  expect(await Promise.all(tabs.map(userOf))).toEqual([null, null, null]);
  // They have shortened its life by now, but it must still be there to be taken.
  expect(await eventually(async () => (await app.client.pttl(`session:${sidOf(owner)}`)) <= 10_000)).toBe(true);
  gate.open();
  expect((await pressed).status).toBe(200);
  expect(await userOf(owner)).toBe("mira");
  expect(await liveSidsOf(app.client, "mira")).toEqual([sidOf(owner)]);
  expect(await eventually(async () => (await recordsIn(app.client)).length === 1)).toBe(true);
});

test("G6: a fading of the record that arrives after it was taken hurts nobody", async () => {
  const app = await heldApp();
  const owner = await app.signedIn("mira");
  const take = app.held.hold(runs(takeRecord));
  const fade = app.held.hold(runs(fadeRecord));
  const pressed = owner.post("/others");
  await take.arrived;
  const tab = owner.clone();
  expect(await userOf(tab)).toBeNull();
  await fade.arrived;
  take.open();
  expect((await pressed).status).toBe(200);
  fade.open();
  expect(await userOf(owner)).toBe("mira");
  expect(await app.client.pttl(`session:${sidOf(owner)}`)).toBeGreaterThan(10_000);
});

test("G6: this device's logout between the bump and the take wins over logoutOthers", async () => {
  const app = await heldApp();
  const owner = await app.signedIn("mira");
  const gate = app.held.hold(runs(takeRecord));
  const tab = owner.clone();
  const pressed = tab.post("/others");
  await gate.arrived;
  await app.client.del(`session:${sidOf(owner)}`);
  gate.open();
  const page = await pressed;
  expect([page.status, page.setCookies]).toEqual([409, []]);
  expect(await eventually(async () => (await recordsIn(app.client)).length === 0)).toBe(true);
  expect([await userOf(owner), await userOf(tab)]).toEqual([null, null]);
});

test(
  "G6: parallel rotations of one session: one wins, the browser that takes its cookie stays in",
  RANDOM,
  async () => {
    const app = await testApp();
    const done = await rounds(60, 4, async (index) => {
      const user = `u-${index}`;
      const device = await app.signedIn(user);
      const tabs = Array.from({ length: 4 }, () => device.clone());
      const pages = await Promise.all(
        tabs.map(async (tab) => {
          await jitter(3);
          return tab.post("/rotate");
        }),
      );
      const moved = tabs.filter((tab) => sidOf(tab) !== sidOf(device));
      expect(pages.every(({ status }) => [200, 409].includes(status))).toBe(true);
      const users = await Promise.all(moved.map(userOf));
      expect(users.filter((it) => it === user)).toHaveLength(1);
      expect(await userOf(device)).toBeNull();
    });
    expect(await eventually(async () => (await recordsIn(app.client)).filter(({ user }) => user).length === done)).toBe(
      true,
    );
  },
);

test("G6: a log out everywhere that overtakes a rotation leaves nobody in", async () => {
  const app = await heldApp();
  const device = await app.signedIn("mira");
  const gate = app.held.hold(runs(takeRecord));
  const rotated = device.post("/rotate");
  await gate.arrived;
  await app.store.logoutEverywhere("mira");
  gate.open();
  await rotated;
  expect(await userOf(device)).toBeNull();
  expect(await liveSidsOf(app.client, "mira")).toEqual([]);
});
