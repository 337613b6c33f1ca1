import { createSecretKey, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { loginOf } from "../../src/index.js";
import { sidOf, type TestApp, testApp, userOf } from "../support/app.js";
import type { Browser } from "../support/browser.js";
import { serve } from "../support/serve.js";

const SECRET = "test secret";

function requestWith(cookie: string | undefined): IncomingMessage {
  return { headers: cookie === undefined ? {} : { cookie } } as IncomingMessage;
}

function cookieOf(device: Browser): string {
  return device.cookies.get("connect.sid") ?? "";
}

async function userRead(
  app: TestApp,
  cookie: string | undefined,
  secret: string | string[] = SECRET,
): Promise<unknown> {
  const data = await app.store.readRequest(requestWith(cookie), { secret });
  return data === null ? null : (loginOf(data)?.userId ?? "anonymous");
}

test("readRequest: a plain http server sees the login, and no longer after a logout", async () => {
  const app = await testApp();
  const device = await app.signedIn("100");
  await device.post("/set/color/red");
  const base = await serve((req, res) => {
    app.store.readRequest(req, { secret: SECRET }).then(
      (data) => res.end(JSON.stringify({ user: loginOf(data)?.userId ?? null, color: data?.["color"] ?? null })),
      () => res.destroy(),
    );
  });
  const get = async (): Promise<unknown> => {
    const answer = await fetch(base, { headers: { cookie: `connect.sid=${cookieOf(device)}` } });
    return answer.json();
  };
  expect(await get()).toEqual({ user: "100", color: "red" });
  await app.client.incr("user_login_age:100");
  expect(await get()).toEqual({ user: null, color: null });
});

test("readRequest: a WebSocket upgrade is accepted with a login and refused without", async () => {
  const app = await testApp();
  const device = await app.signedIn("100");
  const server = createServer();
  server.on("upgrade", (req, socket) => {
    app.store.readRequest(req, { secret: [SECRET] }).then(
      (data) => {
        const login = loginOf(data);
        const status = login === undefined ? "401 Unauthorized" : "101 Switching Protocols";
        socket.end(
          `HTTP/1.1 ${status}\r\nConnection: Upgrade\r\nUpgrade: test\r\nX-User: ${login?.userId ?? ""}\r\n\r\n`,
        );
      },
      () => socket.destroy(),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const upgrade = async (cookie: string): Promise<[number | undefined, string | string[] | undefined]> => {
    const { port } = server.address() as { port: number };
    const headers = { Connection: "Upgrade", Upgrade: "test", Cookie: cookie };
    const sent = httpRequest({ port, host: "127.0.0.1", headers }).end();
    const [res] = (await Promise.race([once(sent, "upgrade"), once(sent, "response")])) as [IncomingMessage];
    sent.destroy();
    return [res.statusCode, res.headers["x-user"]];
  };
  expect(await upgrade(`connect.sid=${cookieOf(device)}`)).toEqual([101, "100"]);
  expect(await upgrade("")).toEqual([401, ""]);
  await app.store.logoutEverywhere("100");
  expect(await upgrade(`connect.sid=${cookieOf(device)}`)).toEqual([401, ""]);
});

test("readRequest: secrets rotate: any of the list verifies, one that is not in it does not", async () => {
  const app = await testApp();
  const device = await app.signedIn("100");
  const cookie = `connect.sid=${cookieOf(device)}`;
  expect(await userRead(app, cookie, ["new secret", SECRET])).toBe("100");
  expect(await userRead(app, cookie, [SECRET, "new secret"])).toBe("100");
  expect(await userRead(app, cookie, ["new secret"])).toBeNull();
  expect(await userRead(app, cookie, "another")).toBeNull();
});

test("readRequest: a secret may be whatever session() takes: a Buffer, a KeyObject, a list of them", async () => {
  const bytes = randomBytes(32);
  const app = await testApp({ session: { secret: bytes } });
  const device = await app.signedIn("100");
  const req = requestWith(`connect.sid=${cookieOf(device)}`);
  for (const secret of [bytes, createSecretKey(bytes), ["old", bytes], new Uint8Array(bytes)]) {
    expect(loginOf(await app.store.readRequest(req, { secret }))?.userId).toBe("100");
  }
  expect(await app.store.readRequest(req, { secret: randomBytes(32) })).toBeNull();
  await expect(app.store.readRequest(req, { secret: Buffer.alloc(0) })).rejects.toThrow(TypeError);
});

test("readRequest: a tampered, unsigned, empty or foreign cookie is no session and no error", async () => {
  const app = await testApp();
  const device = await app.signedIn("100");
  const value = cookieOf(device);
  const decoded = decodeURIComponent(value);
  const sid = sidOf(device);
  const bad = [
    undefined,
    "",
    ";;;",
    "connect.sid",
    "connect.sid=",
    `connect.sid=${value.slice(0, -2)}`,
    `connect.sid=${value}x`,
    `connect.sid=${encodeURIComponent(decoded.replace(sid.slice(0, 1), sid.startsWith("a") ? "b" : "a"))}`,
    `connect.sid=${sid}`,
    `connect.sid=s:${sid}`,
    `connect.sid=s:${sid}.`,
    "connect.sid=s:.",
    "connect.sid=%E0%A4%A",
    `other=${value}`,
    `Connect.Sid=${value}`,
    `__proto__=${value}`,
  ];
  for (const cookie of bad) expect(await userRead(app, cookie)).toBeNull();
  for (const req of [null, undefined, {}, { headers: null }, { headers: { cookie: 5 } }, "request"]) {
    expect(await app.store.readRequest(req as never, { secret: SECRET })).toBeNull();
  }
  expect(await userRead(app, `a=b; connect.sid=${decoded}; c=d`)).toBe("100");
  expect(await userRead(app, `a=b;connect.sid=${value};c`)).toBe("100");
});

test("C22: two cookies of the name: the good one counts in either order, the dead one is never adopted", async () => {
  const app = await testApp();
  const [dead, good] = [await app.signedIn("100"), await app.signedIn("200")];
  await dead.clone().post("/logout");
  const [first, second] = [`connect.sid=${cookieOf(dead)}`, `connect.sid=${cookieOf(good)}`];
  expect(await userRead(app, `${first}; ${second}`)).toBe("200");
  expect(await userRead(app, `${second}; ${first}`)).toBe("200");
  expect(await userRead(app, `${first}; ${first}`)).toBeNull();

  // express-session itself takes the first only: anonymous, but nothing is written under the dead ID, also by a login.
  const visitor = app.browser();
  for (const path of ["/me", "/me"]) {
    const page = await visitor.get(path, { cookie: `${first}; ${second}` });
    expect(page.json()).toEqual({ user: null, data: {} });
  }
  const login = await visitor.send("POST", "/login/200", {}, { cookie: `${first}; ${second}` });
  expect(login.status).toBe(200);
  expect(sidOf(visitor)).not.toBe(sidOf(dead));
  expect(await app.client.exists(`session:${sidOf(dead)}`)).toBe(0);
  const both = await visitor.get("/me", { cookie: `${first}; connect.sid=${cookieOf(visitor)}` });
  expect(both.json()).toEqual({ user: null, data: {} });
  expect(await userOf(good)).toBe("200");
  expect(await app.client.exists(`session:${sidOf(dead)}`)).toBe(0);
});

test("C22: an own cookie name keeps an old cookie out of the way", async () => {
  const app = await testApp({ session: { name: "__Host-sid", cookie: { path: "/" } } });
  const device = app.browser();
  const dead = "connect.sid=s%3Adead.signature";
  await device.send("POST", "/login/100", {}, { cookie: dead });
  const cookie = `${dead}; __Host-sid=${device.cookies.get("__Host-sid")}`;
  expect((await device.get("/me", { cookie })).json()).toEqual({ user: "100", data: {} });
  const read = await app.store.readRequest(requestWith(cookie), { secret: SECRET, name: "__Host-sid" });
  expect(loginOf(read)?.userId).toBe("100");
});

test("readRequest changes and extends nothing", async () => {
  const app = await testApp({ store: { touchIntervalMs: 0 } });
  const device = await app.signedIn("100");
  const key = `session:${sidOf(device)}`;
  const record = await app.client.get(key);
  await app.client.pexpire(key, 10_000);
  await userRead(app, `connect.sid=${cookieOf(device)}`);
  expect(await app.client.get(key)).toBe(record);
  expect(await app.client.pttl(key)).toBeLessThanOrEqual(10_000);
});

test.each([
  ["no options", undefined],
  ["no secret", {}],
  ["an empty secret", { secret: "" }],
  ["no secrets", { secret: [] }],
  ["a secret that is no text", { secret: [5] }],
  ["an empty name", { secret: SECRET, name: "" }],
  ["an unknown option", { secret: SECRET, cookieName: "x" }],
])("readRequest: %s is a TypeError", async (_what, options) => {
  const app = await testApp();
  await expect(app.store.readRequest(requestWith("a=b"), options as never)).rejects.toThrow(TypeError);
});

test("readRequest: more cookies of the name than a browser ever sends do not become as many reads", async () => {
  const app = await testApp();
  const { store } = app;
  const { mget } = app.client;
  let keys = 0;
  app.client.mget = ((...args: unknown[]) => {
    keys += args.flat().length;
    return Reflect.apply(mget, app.client, args);
  }) as typeof mget;
  const devices = await Promise.all(Array.from({ length: 12 }, () => app.signedIn("100")));
  await store.logoutEverywhere("100");
  keys = 0;
  const cookie = devices.map((device) => `connect.sid=${cookieOf(device)}`).join("; ");
  expect(await userRead(app, cookie)).toBeNull();
  expect(keys).toBeLessThanOrEqual(10);
});
