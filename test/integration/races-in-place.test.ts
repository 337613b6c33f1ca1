import { expect, test } from "vitest";
import { loginOf } from "../../src/index.js";
import { sidOf, type TestApp, testApp, userOf } from "../support/app.js";
import { Gate } from "../support/gate.js";
import { jitter, RANDOM, rounds } from "../support/jitter.js";
import { liveSidsOf, recordsIn } from "../support/records.js";
import { regenerate, save } from "../support/session-calls.js";

/** An application that writes the user into the session itself, and keeps the session ID when it does. */
function inPlaceApp(pause: () => Promise<void>): Promise<TestApp> {
  return testApp({
    store: { userId: (data) => data["userId"] as string | undefined },
    session: { rolling: true },
    routes: (app) => {
      app.post("/in/:userId", async (req, res) => {
        req.session["userId"] = req.params.userId;
        await save(req);
        res.json({ user: loginOf(req)?.userId });
      });
      app.post("/out", async (req, res) => {
        delete req.session["userId"];
        await save(req);
        res.json({ user: loginOf(req)?.userId ?? null });
      });
      app.post("/slow/:value", async (req, res) => {
        await pause();
        req.session["note"] = req.params.value;
        res.json({ ok: true });
      });
      app.post("/renew", async (req, res) => {
        const user = req.session["userId"];
        await pause();
        await regenerate(req);
        req.session["userId"] = user;
        res.json({ ok: true });
      });
    },
  });
}

test("G4: a login and a logout in place keep the session ID and take effect at once", async () => {
  const { browser, client, errors } = await inPlaceApp(() => Promise.resolve());
  const device = browser();
  await device.post("/set/cart/full");
  const sid = sidOf(device);
  expect((await device.post("/in/mira")).json()).toEqual({ user: "mira" });
  expect((await device.get("/me")).json()).toEqual({ user: "mira", data: { cart: "full", userId: "mira" } });
  expect((await device.post("/out")).json()).toEqual({ user: null });
  expect((await device.get("/me")).json()).toEqual({ user: null, data: { cart: "full" } });
  expect((await recordsIn(client)).map((record) => [record.sid, record.user])).toEqual([[sid, ""]]);
  expect(errors).toEqual([]);
});

test("G4: a slow writer does not undo a logout under the same session ID", async () => {
  const gate = new Gate();
  const { browser, client, events, errors } = await inPlaceApp(() => gate.pass());
  const device = browser();
  await device.post("/in/mira");
  const slow = device.clone().post("/slow/late");
  await gate.arrived;
  await device.post("/out");
  gate.open();
  expect((await slow).status).toBe(200);
  expect((await device.get("/me")).json()).toEqual({ user: null, data: {} });
  expect(await liveSidsOf(client, "mira")).toEqual([]);
  expect(events).toEqual(["fenced:ended"]);
  expect(errors).toEqual([]);
});

test("G4: a slow anonymous writer does not undo a login under the same session ID", async () => {
  const gate = new Gate();
  const { browser, errors } = await inPlaceApp(() => gate.pass());
  const device = browser();
  await device.post("/set/cart/full");
  const slow = device.clone().post("/slow/late");
  await gate.arrived;
  await device.post("/in/mira");
  gate.open();
  expect((await slow).status).toBe(200);
  expect((await device.get("/me")).json()).toEqual({ user: "mira", data: { cart: "full", userId: "mira" } });
  expect(errors).toEqual([]);
});

test("G4: a slow writer of the user before does not put data into the next user's session", async () => {
  const gate = new Gate();
  const { browser, client, errors } = await inPlaceApp(() => gate.pass());
  const device = browser();
  await device.post("/in/mira");
  const slow = device.clone().post("/slow/of%20mira");
  await gate.arrived;
  await device.post("/out");
  await device.post("/in/noor");
  gate.open();
  expect((await slow).status).toBe(200);
  expect((await device.get("/me")).json()).toEqual({ user: "noor", data: { userId: "noor" } });
  expect(await liveSidsOf(client, "mira")).toEqual([]);
  expect(errors).toEqual([]);
});

test("G4: logged out and in again as the same user in place: the request of the first login stays fenced", async () => {
  const gate = new Gate();
  const { browser, errors, events } = await inPlaceApp(() => gate.pass());
  const device = browser();
  await device.post("/in/mira");
  const slow = device.clone().post("/slow/late");
  await gate.arrived;
  await device.post("/out");
  await device.post("/in/mira");
  gate.open();
  expect((await slow).status).toBe(200);
  expect((await device.get("/me")).json()).toEqual({ user: "mira", data: { userId: "mira" } });
  expect(events).toEqual(["fenced:ended"]);
  expect(errors).toEqual([]);
});

test("G4: a logout in place ends the login also for a request that takes it into a new session", async () => {
  const gate = new Gate();
  const { browser, client, errors } = await inPlaceApp(() => gate.pass());
  const device = browser();
  await device.post("/in/mira");
  const tab = device.clone();
  const slow = tab.post("/renew");
  await gate.arrived;
  await device.post("/out");
  gate.open();
  expect((await slow).status).toBe(200);
  expect([await userOf(tab), await userOf(device)]).toEqual([null, null]);
  expect(await liveSidsOf(client, "mira")).toEqual([]);
  expect(errors).toEqual([]);
});

test("G4: 200 random rounds of in-place logouts and logins beside slow writers", RANDOM, async () => {
  const { browser, client, errors } = await inPlaceApp(() => jitter());
  await rounds(200, 6, async (index) => {
    const [mira, noor] = [`m-${index}`, `n-${index}`];
    const device = browser();
    await device.post(`/in/${mira}`);
    const slow = [1, 2, 3].map((value) => device.clone().post(`/slow/${value}`));
    const renewing = index % 2 === 0 ? [] : [device.clone().post("/renew")];
    await jitter();
    await device.post("/out");
    const isOut = (await userOf(device)) === null;
    if (index % 4 === 0) await device.post(`/in/${noor}`);
    for (const { status } of await Promise.all([...slow, ...renewing])) expect(status).toBe(200);
    expect(isOut).toBe(true);
    expect(await userOf(device)).toBe(index % 4 === 0 ? noor : null);
    if (index % 2 === 0) expect(await liveSidsOf(client, mira)).toEqual([]);
  });
  expect(errors).toEqual([]);
});

test("G12: a record whose data names another user than its head is no session", async () => {
  const { browser, client, store, events } = await inPlaceApp(() => Promise.resolve());
  const device = browser();
  await device.post("/in/mira");
  await device.clone().post("/in/noor");
  await store.beginLogin("noor");
  const key = `session:${sidOf(device)}`;
  const record = (await client.get(key)) ?? "";
  const [head = "", ...rest] = record.split(/(?<=n=[^,]*,)/);
  expect(head.startsWith("noor,")).toBe(true);
  await client.set(key, head + rest.join("").replace('"userId":"noor"', '"userId":"mira"'), "EX", 60);
  const page = await device.post("/slow/written");
  expect(page.status).toBe(200);
  expect(await userOf(device)).toBeNull();
  expect(events).toContain("corrupt:user");
  expect(await liveSidsOf(client, "mira")).toEqual([]);
});
