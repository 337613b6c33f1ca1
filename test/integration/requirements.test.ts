import { sign } from "cookie-signature";
import session from "express-session";
import { describe, expect, test } from "vitest";
import { adminLogout, loginOf } from "../../src/index.js";
import { sidOf, type TestApp, testApp, userOf } from "../support/app.js";
import { clientOnOwnServer, commandCalls, resetCommandCalls } from "../support/command-stats.js";

const DAY_MS = 86_400_000;

describe("R-G1: a login stores userId,generation under the session ID", () => {
  test("R-G1: with the user's current generation, for one day by default", async () => {
    const { signedIn, client } = await testApp();
    const device = await signedIn("100");
    const record = await client.get(`session:${sidOf(device)}`);
    const generation = await client.get("user_login_age:100");
    expect(generation).toMatch(/^[1-9][0-9]{15}$/);
    expect(record?.startsWith(`100,${generation},`)).toBe(true);
    const ttl = await client.pttl(`session:${sidOf(device)}`);
    expect(ttl).toBeGreaterThan(DAY_MS - 5_000);
    expect(ttl).toBeLessThanOrEqual(DAY_MS + 60_000);
  });

  test("R-G1: a generation that is there already is read, not made anew", async () => {
    const { signedIn, client } = await testApp();
    await client.set("user_login_age:100", "41");
    const device = await signedIn("100");
    expect(await client.get(`session:${sidOf(device)}`)).toMatch(/^100,41,/);
    expect(await client.get("user_login_age:100")).toBe("41");
  });
});

describe("R-G2: every authentication compares the record with the user's generation", () => {
  test.each([
    ["raised by a bare INCR", (app: TestApp) => app.client.incr("user_login_age:100")],
    ["lower", (app: TestApp) => app.client.set("user_login_age:100", "1")],
    ["gone", (app: TestApp) => app.client.del("user_login_age:100")],
    ["no number", (app: TestApp) => app.client.set("user_login_age:100", "abc")],
  ])("R-G2: a generation that is %s is not accepted, whatever was read before", async (_how, change) => {
    const app = await testApp();
    const device = await app.signedIn("100");
    // Reads that a cache could have kept.
    for (let reads = 0; reads < 3; reads += 1) expect(await userOf(device)).toBe("100");
    await change(app);
    expect(await userOf(device)).toBeNull();
  });

  test("R-G2: both keys are read each time", async () => {
    const client = await clientOnOwnServer();
    const { signedIn } = await testApp({ store: { client } });
    const device = await signedIn("100");
    await userOf(device);
    const hits = async (): Promise<number> => Number(/keyspace_hits:(\d+)/.exec(await client.info("stats"))?.[1]);
    const before = await hits();
    for (let reads = 0; reads < 5; reads += 1) await userOf(device);
    expect((await hits()) - before).toBe(10);
  });
});

describe("R-G3: log out everywhere raises the generation by one command", () => {
  test("R-G3: raising the generation logs out every device at once", async () => {
    const { signedIn, store } = await testApp();
    const devices = await Promise.all(Array.from({ length: 20 }, () => signedIn("100")));
    const other = await signedIn("200");
    await store.logoutEverywhere("100");
    expect(await Promise.all(devices.map(userOf))).toEqual(devices.map(() => null));
    expect(await userOf(other)).toBe("200");
  });

  test("R-G3: at the same cost with 1 and with 2 000 sessions and users", async () => {
    const client = await clientOnOwnServer();
    const { store } = await testApp({ store: { client } });
    const cost = async (): Promise<unknown> => {
      await resetCommandCalls(client);
      await store.logoutEverywhere("100");
      return Object.fromEntries(await commandCalls(client));
    };
    await store.logoutEverywhere("100");
    await client.set("session:one", "100,1");
    const withOne = await cost();
    const many = client.pipeline();
    for (let n = 0; n < 2_000; n += 1) {
      many.set(`session:mine-${n}`, "100,1", "PX", DAY_MS).set(`session:theirs-${n}`, `u${n},1`, "PX", DAY_MS);
      many.set(`user_login_age:u${n}`, "1");
    }
    await many.exec();
    expect(await cost()).toEqual(withOne);
    expect(withOne).toMatchObject({ evalsha: 1 });
  });
});

test("R-G4: a login after that gets the new generation and works", async () => {
  const { signedIn, store, client, browser } = await testApp();
  const old = await signedIn("100");
  const { generation } = await store.logoutEverywhere("100");
  const device = browser();
  expect((await device.post("/login/100")).status).toBe(200);
  expect(await userOf(device)).toBe("100");
  expect(await client.get(`session:${sidOf(device)}`)).toMatch(new RegExp(`^100,${generation},`));
  expect(await userOf(old)).toBeNull();
  // The signed-out browser itself can sign in again as well.
  expect((await old.post("/login/100")).status).toBe(200);
  expect(await userOf(old)).toBe("100");
});

describe("R-G5: three triggers work out of the box", () => {
  const passwords = new Map([["100", "old"]]);
  const triggers = (): Promise<TestApp> =>
    testApp({
      routes: (app, store) => {
        app.post("/change-password", async (req, res) => {
          const login = loginOf(req);
          if (login === undefined) return res.status(401).end();
          passwords.set(login.userId, "new");
          await store.logoutOthers(req);
          return res.redirect(303, "/me");
        });
        app.post("/log-out-of-all-devices", async (req, res) => {
          const login = loginOf(req);
          if (login !== undefined) await store.logoutEverywhere(login.userId);
          res.redirect(303, "/me");
        });
        const isAdmin = (req: object): boolean => loginOf(req)?.userId === "admin";
        app.post("/admin/log-out/:userId", adminLogout({ store, authorize: isAdmin }));
      },
    });

  test("R-G5: the password-change handler logs out every other device and keeps this one", async () => {
    const { signedIn } = await triggers();
    const [phone, laptop, tablet] = await Promise.all([signedIn("100"), signedIn("100"), signedIn("100")]);
    const page = await phone.post("/change-password");
    expect(page.status).toBe(303);
    expect(passwords.get("100")).toBe("new");
    expect((await phone.follow(page)).json()).toMatchObject({ user: "100" });
    expect([await userOf(laptop), await userOf(tablet)]).toEqual([null, null]);
  });

  test("R-G5: the button logs out all devices, the one it was pressed on included", async () => {
    const { signedIn } = await triggers();
    const [phone, laptop, other] = await Promise.all([signedIn("100"), signedIn("100"), signedIn("200")]);
    const page = await phone.post("/log-out-of-all-devices");
    expect((await phone.follow(page)).json()).toMatchObject({ user: null });
    expect([await userOf(laptop), await userOf(other)]).toEqual([null, "200"]);
  });

  test("R-G5: the admin endpoint logs out the given user, for admins only", async () => {
    const { signedIn } = await triggers();
    const [admin, victim, phone, other] = await Promise.all(["admin", "100", "100", "200"].map(signedIn));
    if (!admin || !victim || !phone || !other) throw new Error("four devices");
    expect((await other.post("/admin/log-out/100")).status).toBe(403);
    expect(await userOf(victim)).toBe("100");
    const page = await admin.post("/admin/log-out/100");
    expect([page.status, page.text]).toEqual([200, '{"loggedOut":true}']);
    expect([await userOf(victim), await userOf(phone)]).toEqual([null, null]);
    expect([await userOf(admin), await userOf(other)]).toEqual(["admin", "200"]);
  });
});

test("R-G6: no user ID leaves the server: the cookie carries only the random session ID", async () => {
  const userId = "user-7731@example.org";
  const { browser, store, client } = await testApp({ session: { rolling: true } });
  const device = browser();
  const pages = [
    await device.post(`/login/${encodeURIComponent(userId)}`),
    await device.post("/set/theme/dark"),
    await device.post("/others"),
    await device.post("/rotate"),
  ];
  const generation = await store.generation(userId);
  for (const page of pages) {
    expect(page.setCookies).toHaveLength(1);
    const headers = decodeURIComponent(JSON.stringify([...page.headers]));
    for (const secret of [userId, "user-7731", Buffer.from(userId).toString("base64"), generation ?? "none"]) {
      expect(headers).not.toContain(secret);
    }
    // 24 random bytes from express-session, and the signature over them.
    expect(decodeURIComponent(page.setCookies[0] ?? "")).toMatch(
      /^connect\.sid=s:[\w-]{32}\.[A-Za-z0-9+/]{43}; Path=\/; HttpOnly$/,
    );
  }
  expect(new Set(pages.map((page) => page.setCookies[0])).size).toBe(3);
  expect(await client.keys("session:*")).toEqual([`session:${sidOf(device)}`]);
});

test("R-G7: no SCAN and no list of a user's sessions is needed for any security decision", async () => {
  const client = await clientOnOwnServer();
  const { signedIn, browser, store, base } = await testApp({
    store: { client, touchIntervalMs: 0 },
    routes: (app, itself) => {
      app.post("/admin/:userId", adminLogout({ store: itself, authorize: () => true }));
      app.post("/regenerate", (req, res, next) => {
        req.session.regenerate((error) => (error ? next(error) : res.end()));
      });
    },
  });
  await client.flushall();
  await resetCommandCalls(client);
  const devices = await Promise.all(Array.from({ length: 6 }, () => signedIn("100")));
  const [first, second, third, fourth] = devices;
  if (!first || !second || !third || !fourth) throw new Error("four devices");
  await browser().post("/set/theme/dark");
  for (const path of ["/set/theme/dark", "/rotate", "/others"]) expect((await first.post(path)).status).toBe(200);
  expect(await userOf(second)).toBeNull();
  expect((await second.post("/login/100")).status).toBe(200);
  expect((await second.post("/logout")).status).toBe(200);
  expect((await first.post("/everywhere")).status).toBe(200);
  for (const path of ["/login/100", "/regenerate"]) expect((await third.post(path)).status).toBe(200);
  expect((await fourth.post("/login/100")).status).toBe(200);
  expect(await store.isCurrent({ userId: "100", generation: (await store.generation("100")) ?? "" })).toBe(true);
  expect((await fetch(`${base}/admin/100`, { method: "POST" })).status).toBe(200);
  expect(await Promise.all(devices.map(userOf))).toEqual(devices.map(() => null));

  const used = [...(await commandCalls(client)).keys()];
  // All of them touch the keys they name and nothing else; a walk, a set, a list or a hash would show up here.
  const allowed = "mget get set del exists getrange pttl pexpire persist time evalsha eval incrby client hello";
  expect(used.filter((name) => !allowed.split(" ").includes(name))).toEqual([]);
  const keys = await client.keys("*");
  expect(keys.filter((key) => !/^(?:session:[\w-]{32}|user_login_age:100)$/.test(key))).toEqual([]);
  expect(new Set(await Promise.all(keys.map((key) => client.type(key))))).toEqual(new Set(["string"]));
});

describe("R-G9: plugs into express-session as its store", () => {
  test("R-G9: the application's session code, cookies and options keep working", async () => {
    const { signedIn, store, browser } = await testApp({
      session: { name: "shop", cookie: { maxAge: 3_600_000, sameSite: "lax", path: "/" } },
    });
    expect(store).toBeInstanceOf(session.Store);
    const device = await signedIn("100");
    await device.post("/set/theme/dark");
    const page = await device.get("/me");
    expect(page.json()).toEqual({ user: "100", data: { theme: "dark" } });
    expect(page.setCookies).toEqual([]);
    const guest = browser();
    const [line = ""] = (await guest.post("/set/cart/1")).setCookies;
    expect(line).toMatch(/^shop=s%3A[^;]+; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Lax$/);
    expect((await guest.get("/me")).json()).toEqual({ user: null, data: { cart: "1" } });
  });

  test("R-G9: a session that connect-redis stored is never adopted silently", async () => {
    const { browser, client, events } = await testApp();
    const sid = "0123456789abcdefghijklmnopqrstuv";
    const json = JSON.stringify({
      cookie: { originalMaxAge: 86_400_000, expires: "2099-01-01T00:00:00.000Z", httpOnly: true, path: "/" },
      userId: "100",
      passport: { user: "100" },
    });
    await client.set("user_login_age:100", "1");
    await client.set(`session:${sid}`, json, "EX", 86_400);
    await client.set(`sess:${sid}`, json, "EX", 86_400);
    const device = browser();
    device.cookies.set("connect.sid", encodeURIComponent(`s:${sign(sid, "test secret")}`));
    const page = await device.get("/me");
    expect([page.status, page.json()]).toEqual([200, { user: null, data: {} }]);
    expect(events).toContain("corrupt:record");
    // Signing in works at once, under a session ID of our own; what was stored stays for the migration.
    expect((await device.post("/login/100")).status).toBe(200);
    expect(await userOf(device)).toBe("100");
    expect(sidOf(device)).not.toBe(sid);
    expect([await client.get(`session:${sid}`), await client.get(`sess:${sid}`)]).toEqual([json, json]);
  });
});
