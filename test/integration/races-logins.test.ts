import { expect, onTestFinished, test } from "vitest";
import type { GenerationStore } from "../../src/index.js";
import { insertRecord } from "../../src/session/scripts/insert-record.js";
import { sidOf, type TestApp, testApp, userOf } from "../support/app.js";
import { runs } from "../support/commands.js";
import { Gate } from "../support/gate.js";
import { passportApp } from "../support/passport-app.js";
import { proxiedApp, proxiedClient, warmedUp } from "../support/proxied-app.js";
import { eventually, liveSidsOf, recordsIn } from "../support/records.js";
import { startRedis } from "../support/redis-server.js";

function addPairs(app: TestApp["app"], store: GenerationStore): void {
  app.post("/pair/:kind", async (req, res) => {
    const [a, b] = await Promise.all([store.beginLogin("mira"), store.beginLogin("noor")]);
    const calls = {
      "login and login": [() => store.login(req, a), () => store.login(req, b)],
      "login and rotate": [() => store.login(req, a), () => store.rotate(req)],
      "rotate and login": [() => store.rotate(req), () => store.login(req, b)],
      "login and others": [() => store.login(req, a), () => store.logoutOthers(req)],
      "rotate and rotate": [() => store.rotate(req), () => store.rotate(req)],
      "login and regenerate": [() => store.login(req, a), () => new Promise((done) => req.session.regenerate(done))],
    }[req.params.kind];
    await Promise.all((calls ?? []).map((call) => call()));
    res.json({ ok: true });
  });
}

const LAST_WINS = {
  "login and login": "noor",
  "login and rotate": "mira",
  "rotate and login": "noor",
  "login and others": "mira",
  "rotate and rotate": "olga",
  "login and regenerate": null,
};

for (const [kind, user] of Object.entries(LAST_WINS)) {
  test(`G6: ${kind} at once in one request run one after the other and leave one record`, async () => {
    const app = await testApp({ routes: addPairs });
    const device = await app.signedIn("olga");
    expect((await device.post(`/pair/${encodeURIComponent(kind)}`)).status).toBe(200);
    expect(await userOf(device)).toBe(user);
    expect(await eventually(async () => (await recordsIn(app.client)).length === 1)).toBe(true);
    const [record] = await recordsIn(app.client);
    expect([record?.sid, record?.user]).toEqual([sidOf(device), user ?? ""]);
    expect(app.errors).toEqual([]);
  });
}

for (const how of ["paused", "hanging", "cut off"]) {
  test(`G6: a login answered 503 because Redis is ${how} is none, and the old session is as it was`, async () => {
    // Of its own: a pause stops the whole server.
    const server = await startRedis();
    onTestFinished(() => server.dispose());
    const app = await warmedUp(false, {}, server.port);
    const device = app.browser();
    await device.post("/set/cart/full");
    await app.store.beginLogin("mira");
    const before = sidOf(device);
    const trouble =
      how === "paused"
        ? app.client.call("client", "pause", "900", "ALL")
        : how === "hanging"
          ? app.proxy.hold(runs(insertRecord))
          : app.proxy.cutBefore(runs(insertRecord));
    const page = await device.post("/login/mira");
    expect([page.status, page.setCookies]).toEqual([503, []]);
    expect(sidOf(device)).toBe(before);
    await trouble;
    app.proxy.release();
    expect(await eventually(async () => (await device.get("/me")).status === 200)).toBe(true);
    expect((await device.get("/me")).json()).toEqual({ user: null, data: { cart: "full" } });
    expect(await eventually(async () => (await liveSidsOf(app.client, "mira")).length === 0)).toBe(true);
    expect((await recordsIn(app.client)).map(({ sid }) => sid)).toEqual([before]);
    expect((await device.post("/login/mira")).status).toBe(200);
    expect(await userOf(device)).toBe("mira");
    expect(app.events).toEqual(expect.not.arrayContaining(["corrupt:record"]));
  });
}

test("G6: a login of someone who is logged in, answered 503, leaves that user in", async () => {
  const app = await warmedUp(false);
  const device = await app.signedIn("mira");
  await app.store.beginLogin("noor");
  const happened = app.proxy.cutAfter(runs(insertRecord));
  expect((await device.post("/login/noor")).status).toBe(503);
  await happened;
  expect(await userOf(device)).toBe("mira");
  expect(await eventually(async () => (await liveSidsOf(app.client, "noor")).length === 0)).toBe(true);
  expect(await liveSidsOf(app.client, "mira")).toEqual([sidOf(device)]);
});

for (const when of ["before", "during"]) {
  test(`G6: headers that were sent ${when} a login make it fail, and the request keeps its old session`, async () => {
    const gate = new Gate();
    const outcomes: unknown[] = [];
    const app = await testApp({
      routes: (express, store) => {
        express.post("/sent/:call", async (req, res) => {
          const attempt = await store.beginLogin("noor");
          const sessionBefore = req.session;
          if (when === "before") res.write("x");
          const call = req.params.call === "login" ? store.login(req, attempt) : store.rotate(req);
          if (when === "during") res.write("x");
          outcomes.push(await call.catch((error: { code: string }) => error.code));
          outcomes.push(req.session === sessionBefore);
          await gate.pass();
          res.end();
        });
      },
    });
    gate.open();
    const device = await app.signedIn("mira");
    for (const call of ["login", "rotate"]) {
      const page = await device.post(`/sent/${call}`);
      expect([page.status, page.setCookies]).toEqual([200, []]);
    }
    expect(outcomes).toEqual(["ERR_HEADERS_SENT", true, "ERR_HEADERS_SENT", true]);
    expect(await userOf(device)).toBe("mira");
    expect(await eventually(async () => (await recordsIn(app.client)).length === 1)).toBe(true);
    expect(await liveSidsOf(app.client, "mira")).toEqual([sidOf(device)]);
  });
}

test("C08: with a slow Redis the page after a logout is anonymous, for destroy as for a new login", async () => {
  const app = await proxiedApp({}, { session: { rolling: true } });
  app.proxy.delayReplies(15);
  const device = app.browser();
  for (let round = 0; round < 8; round += 1) {
    expect((await device.post("/login/mira")).status).toBe(200);
    expect(await userOf(device)).toBe("mira");
    expect((await device.post("/logout")).status).toBe(200);
    expect(await userOf(device)).toBeNull();
    expect(await recordsIn(app.client)).toEqual([]);
  }
  expect(app.errors).toEqual([]);
});

test("C08: with a slow Redis the page after Passport's logout is anonymous, and one record is left at most", async () => {
  const slow = await proxiedClient();
  slow.proxy.delayReplies(15);
  const app = await passportApp({ client: slow.proxied });
  const device = app.browser();
  for (let round = 0; round < 8; round += 1) {
    expect((await device.post("/sign-in", { username: "mira", password: "old", keep: "1" })).status).toBe(200);
    const page = await device.follow(await device.post("/sign-out", { keep: "1" }));
    expect(page.json()["user"]).toBeNull();
    const records = await recordsIn(slow.client);
    expect([records.length <= 1, records.every(({ user }) => user === "")]).toEqual([true, true]);
  }
  expect(app.errors).toEqual([]);
});
