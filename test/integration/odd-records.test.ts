import { expect, test } from "vitest";
import { LoginError } from "../../src/index.js";
import { sidOf, testApp, userOf } from "../support/app.js";

const CONNECT_REDIS =
  '{"cookie":{"originalMaxAge":86400000,"expires":"2099-01-01T00:00:00.000Z","httpOnly":true,"path":"/"},"userId":"100","passport":{"user":"100"}}';

/** Values found under session keys that are no sessions. `%GEN%` stands for user 100's current generation. */
const ODD_RECORDS: readonly string[] = [
  "",
  "{",
  "{}",
  "[]",
  '"x"',
  "null",
  "0",
  '{"cookie":null}',
  '{"cookie":"x"}',
  CONNECT_REDIS,
  "100",
  "100,",
  ",%GEN%",
  "100,%GEN%,",
  "100,%GEN%,,",
  "100,%GEN%,at=1;n=x,",
  "100,abc",
  "100,-1",
  "100,1.5",
  "100,,,{}",
  "100,0%GEN%",
  " 100,%GEN%",
  "100,%GEN%\n",
  "100,%GEN%,,{",
  "100,%GEN%,,[]",
  "100,%GEN%,,null",
  "100,%GEN%,,{}",
  '100,%GEN%,,{"cookie":null}',
  '100,%GEN%,,{"cookie":"x"}',
  '100,%GEN%,,{"cookie":{"expires":"never"}}',
  "100,%GEN%,at=x,{}",
  `100,%GEN%,${CONNECT_REDIS}`,
];

test.each(ODD_RECORDS)(
  "C11: the record %j is no session: anonymous, no 500, and the next session works",
  async (text) => {
    const { signedIn, client, store, errors, events } = await testApp({
      routes: (app) => {
        app.post("/reload", (req, res) => {
          req.session.reload((error) => res.json({ error: error instanceof Error ? error.message : null }));
        });
      },
    });
    const device = await signedIn("100");
    const sid = sidOf(device);
    const record = text.replace("%GEN%", (await store.generation("100")) ?? "");
    await client.set(`session:${sid}`, record, "EX", 1_000);

    expect(await store.get(sid)).toBeNull();
    expect(await userOf(device)).toBeNull();
    expect(await userOf(device)).toBeNull();
    expect(events.filter((event) => event.startsWith("corrupt"))).toHaveLength(3);
    expect(await store.all()).toEqual([]);

    await device.post("/set/color/red");
    expect(sidOf(device)).not.toBe(sid);
    expect((await device.get("/me")).json()).toEqual({ user: null, data: { color: "red" } });
    await device.post("/login/100");
    expect(await userOf(device)).toBe("100");
    expect(errors).toEqual([]);
    // What was not understood was not destroyed either.
    expect(await client.get(`session:${sid}`)).toBe(record);
    await store.destroy(sid);
    expect(await client.exists(`session:${sid}`)).toBe(0);
  },
);

test.each(["list", "hash", "set", "stream"])("C11: a Redis %s under a session key is no session", async (type) => {
  const { signedIn, client, store, errors } = await testApp();
  const device = await signedIn("100");
  const sid = sidOf(device);
  const key = `session:${sid}`;
  await client.del(key);
  if (type === "list") await client.lpush(key, "100,1");
  if (type === "hash") await client.hset(key, "a", "1");
  if (type === "set") await client.sadd(key, "a");
  if (type === "stream") await client.xadd(key, "*", "a", "1");
  expect(await userOf(device)).toBeNull();
  await store.touch(sid, { cookie: { originalMaxAge: 60_000 } } as never);
  await device.post("/set/color/red");
  expect((await device.get("/me")).json()).toEqual({ user: null, data: { color: "red" } });
  expect(errors).toEqual([]);
});

test("C11: a session that turns odd while its request runs is not saved over, and the page is answered", async () => {
  for (const odd of ["", "{}", "nonsense", CONNECT_REDIS, "list"]) {
    const { signedIn, client, errors, events } = await testApp({
      routes: (app) => {
        app.post("/odd", async (req, res) => {
          const key = `session:${req.sessionID}`;
          await client.del(key);
          if (odd === "list") await client.lpush(key, "x");
          else await client.set(key, odd, "EX", 100);
          req.session["changed"] = 1;
          res.json({});
        });
      },
    });
    const device = await signedIn("100");
    const key = `session:${sidOf(device)}`;
    expect((await device.post("/odd")).status).toBe(200);
    expect(await client.type(key)).toBe(odd === "list" ? "list" : "string");
    if (odd !== "list") expect(await client.get(key)).toBe(odd);
    expect(events).toContain("fenced:ended");
    expect(errors).toEqual([]);
  }
});

const ODD_COUNTERS = ["abc", "", "-1", "1.5", "01", " 1", "9223372036854775807", "1000000000000000000", "list"];

test.each(ODD_COUNTERS)(
  "C11: the counter %j means logged out, and a login or a logout replaces it",
  async (counter) => {
    for (const repair of ["login", "logout"] as const) {
      const { signedIn, client, store, errors } = await testApp();
      const device = await signedIn("100");
      const before = await store.generation("100");
      await client.del("user_login_age:100");
      if (counter === "list") await client.lpush("user_login_age:100", "x");
      else await client.set("user_login_age:100", counter);
      // Also a record that names the very text of the counter is not logged in.
      await client.set("session:equal", `100,${counter}`, "EX", 100);

      expect(await store.generation("100")).toBeUndefined();
      expect(await userOf(device)).toBeNull();
      expect(await store.get("equal")).toBeNull();
      expect(await store.isCurrent({ userId: "100", generation: counter })).toBe(false);

      if (repair === "logout") await store.logoutEverywhere("100");
      const again = await signedIn("100");
      expect(await userOf(again)).toBe("100");
      expect(await userOf(device)).toBeNull();
      expect(Number(await store.generation("100"))).toBeGreaterThan(Number(before));
      expect(errors).toEqual([]);
    }
  },
);

test.each(["abc", undefined])(
  "C11: with the counter %j no record is removed or shortened: it may be restored",
  async (counter) => {
    const { signedIn, client, store } = await testApp();
    const device = await signedIn("100");
    const key = `session:${sidOf(device)}`;
    const generation = (await store.generation("100")) ?? "";
    await client.del("user_login_age:100");
    if (counter !== undefined) await client.set("user_login_age:100", counter);
    expect(await userOf(device)).toBeNull();
    await client.ping();
    expect(await client.pttl(key)).toBeGreaterThan(80_000_000);
    await client.set("user_login_age:100", generation);
    expect(await userOf(device)).toBe("100");
  },
);

test("C11: an attempt begun before its counter was replaced does not log in", async () => {
  const { app, browser, client, store } = await testApp({
    routes: (routes, own) => {
      routes.post("/late", async (req, res) => {
        const attempt = await own.beginLogin("100");
        await client.set("user_login_age:100", "abc");
        await own.login(req, attempt).catch((error: unknown) => {
          res.json({ code: error instanceof LoginError ? error.code : "other" });
        });
      });
    },
  });
  expect(app).toBeDefined();
  const device = browser();
  expect((await device.post("/late")).json()).toEqual({ code: "ERR_LOGIN_SUPERSEDED" });
  expect(await client.keys("session:*")).toEqual([]);
  expect(await store.generation("100")).toBeUndefined();
});
