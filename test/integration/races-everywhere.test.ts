import { expect, test } from "vitest";
import { sidOf, testApp, userOf } from "../support/app.js";
import { Gate } from "../support/gate.js";
import { jitter, RANDOM, rounds } from "../support/jitter.js";
import { liveSidsOf, recordsIn } from "../support/records.js";
import { save } from "../support/session-calls.js";

for (const work of ["change", "save", "touch"]) {
  for (const settings of [{}, { resave: true, rolling: true }]) {
    test(`C02: a slow request (${work}, ${JSON.stringify(settings)}) overtaken by a bare INCR stays out`, async () => {
      const gate = new Gate();
      const { signedIn, client, errors } = await testApp({
        store: { touchIntervalMs: 0 },
        session: settings,
        routes: (app) => {
          app.get("/slow", async (req, res) => {
            await gate.pass();
            if (work !== "touch") req.session["last"] = "report";
            if (work === "save") await save(req);
            res.json({ ok: true });
          });
        },
      });
      const device = await signedIn("mira");
      const stranger = await signedIn("noor");
      const slow = device.get("/slow");
      await gate.arrived;
      await client.incr("user_login_age:mira");
      gate.open();
      expect((await slow).status).toBe(200);
      expect([await userOf(device), await userOf(stranger)]).toEqual([null, "noor"]);
      expect(await liveSidsOf(client, "mira")).toEqual([]);
      expect(errors).toEqual([]);
    });
  }
}

test("C02: 200 random slow requests beside a log out everywhere, by turns by code and by INCR", RANDOM, async () => {
  const { signedIn, client, store, errors } = await testApp({
    store: { touchIntervalMs: 0 },
    session: { rolling: true },
    routes: (app) => {
      app.get("/slow/:work", async (req, res) => {
        await jitter();
        if (req.params.work !== "touch") req.session["last"] = "report";
        if (req.params.work === "save") await save(req);
        await jitter(4);
        res.json({ ok: true });
      });
    },
  });
  const done = await rounds(200, 8, async (index) => {
    const user = `u-${index}`;
    const device = await signedIn(user);
    const tabs = [device.clone(), device.clone(), device.clone()];
    const slow = ["change", "save", "touch"].map((work, tab) => tabs[tab]?.get(`/slow/${work}`));
    await jitter();
    if (index % 2 === 0) await store.logoutEverywhere(user);
    else await client.incr(`user_login_age:${user}`);
    expect((await Promise.all(slow)).map((page) => page?.status)).toEqual([200, 200, 200]);
    expect(await Promise.all([device, ...tabs].map(userOf))).toEqual([null, null, null, null]);
    await device.post(`/login/${user}`);
    expect(await userOf(device)).toBe(user);
  });
  expect((await recordsIn(client)).filter(({ isLive }) => isLive)).toHaveLength(done);
  expect(errors).toEqual([]);
});

test("C03: a login begun with the old password fails when the password changes before it is saved", async () => {
  const gate = new Gate();
  const { browser, signedIn, client, store } = await testApp({
    routes: (app, store) => {
      app.post("/slow-login", async (req, res) => {
        const attempt = await store.beginLogin("mira");
        await gate.pass();
        await store.login(req, attempt);
        res.json({ ok: true });
      });
    },
  });
  const owner = await signedIn("mira");
  const attacker = browser();
  const late = attacker.post("/slow-login");
  await gate.arrived;
  await owner.post("/others");
  gate.open();
  const page = await late;
  expect([page.status, page.json()["code"], page.setCookies]).toEqual([409, "ERR_LOGIN_SUPERSEDED", []]);
  expect([await userOf(attacker), await userOf(owner)]).toEqual([null, "mira"]);
  expect(await liveSidsOf(client, "mira")).toEqual([sidOf(owner)]);
  await store.logoutEverywhere("mira");
  expect((await attacker.post("/login/mira")).status).toBe(200);
  expect(await userOf(attacker)).toBe("mira");
});

test(
  "C03: 500 random logins with the old password beside its change: no survivor, and later logins work",
  RANDOM,
  async () => {
    const passwords = new Map<string, string>();
    const { browser, client, store, errors } = await testApp({
      routes: (app, store) => {
        app.post("/sign-in/:user/:password", async (req, res) => {
          const { user, password } = req.params;
          const attempt = await store.beginLogin(user);
          await jitter(4);
          if (passwords.get(user) !== password) return void res.status(401).json({});
          await jitter(8);
          await store.login(req, attempt);
          res.json({ ok: true });
        });
      },
    });
    const outcomes = new Map<number, number>();
    const done = await rounds(500, 10, async (index) => {
      const user = `u-${index}`;
      passwords.set(user, "old");
      const attackers = [browser(), browser()];
      const late = attackers.map((attacker) => attacker.post(`/sign-in/${user}/old`));
      await jitter(8);
      passwords.set(user, "new");
      await store.logoutEverywhere(user);
      for (const { status } of await Promise.all(late)) outcomes.set(status, (outcomes.get(status) ?? 0) + 1);
      expect(await Promise.all(attackers.map(userOf))).toEqual([null, null]);
      if (index % 5 === 0) {
        const owner = browser();
        expect((await owner.post(`/sign-in/${user}/new`)).status).toBe(200);
        expect(await userOf(owner)).toBe(user);
      }
    });
    // All three kinds came up: in before the change, overtaken by it, too late for the old password.
    expect([...outcomes.keys()].sort()).toEqual([200, 401, 409]);
    expect((await recordsIn(client)).filter(({ isLive }) => isLive)).toHaveLength(done / 5);
    expect(errors.every((error) => (error as { code: string }).code === "ERR_LOGIN_SUPERSEDED")).toBe(true);
  },
);

test("C09: a password change spares the device that did it, also from its own requests in flight", async () => {
  const gates = new Map(["change", "read", "others"].map((work) => [work, new Gate()]));
  const { signedIn, browser, client, store } = await testApp({
    session: { rolling: true },
    routes: (app, store) => {
      app.post("/call/:work", async (req, res) => {
        await gates.get(req.params.work)?.pass();
        if (req.params.work === "others") await store.logoutOthers(req);
        if (req.params.work === "change") req.session["late"] = "yes";
        res.json({ ok: true });
      });
    },
  });
  const [a, b] = [await signedIn("mira"), await signedIn("mira")];
  const ofA = [a.clone().post("/call/change"), a.clone().post("/call/read")];
  const ofB = b.clone();
  const sameWayIn = ofB.post("/call/others");
  for (const gate of gates.values()) await gate.arrived;
  expect((await a.post("/others")).status).toBe(200);
  for (const gate of gates.values()) gate.open();
  for (const page of await Promise.all(ofA)) expect([page.status, page.setCookies]).toEqual([200, []]);
  expect((await sameWayIn).status).toBe(409);
  expect([await userOf(a), await userOf(b), await userOf(ofB)]).toEqual(["mira", null, null]);
  expect(await liveSidsOf(client, "mira")).toEqual([sidOf(a)]);
  // A reset by mail comes from nobody's session: it spares none.
  await store.logoutEverywhere("mira", { reason: "reset by mail" });
  expect(await userOf(a)).toBeNull();
  expect(await userOf(browser())).toBeNull();
});

test(
  "C09: 200 random password changes: the others are out, this device is in, whatever its other calls do",
  RANDOM,
  async () => {
    const { signedIn, client, errors } = await testApp({
      store: { touchIntervalMs: 0 },
      session: { rolling: true },
      routes: (app) => {
        app.post("/call/:work", async (req, res) => {
          await jitter();
          if (req.params.work === "change") req.session["late"] = "yes";
          if (req.params.work === "save") await save(req);
          await jitter(4);
          res.json({ ok: true });
        });
      },
    });
    const done = await rounds(200, 6, async (index) => {
      const user = `u-${index}`;
      const [a, b] = await Promise.all([signedIn(user), signedIn(user)]);
      const inFlight = ["change", "save", "read"].flatMap((work) =>
        [a, b].map((it) => it.clone().post(`/call/${work}`)),
      );
      await jitter();
      expect((await a.post("/others")).status).toBe(200);
      for (const { status } of await Promise.all(inFlight)) expect(status).toBe(200);
      expect([await userOf(a), await userOf(b)]).toEqual([user, null]);
    });
    expect((await recordsIn(client)).filter(({ isLive }) => isLive)).toHaveLength(done);
    expect(errors).toEqual([]);
  },
);
