import { expect, test } from "vitest";
import { loginOf } from "../../src/index.js";
import { sidOf, type TestApp, testApp } from "../support/app.js";
import type { Browser } from "../support/browser.js";

/** The same routes with the user ID in the body: not every ID survives a URL. */
function odd(): Promise<TestApp> {
  return testApp({
    routes: (app, store) => {
      app.post("/as", async (req, res) => {
        let body = "";
        for await (const chunk of req) body += String(chunk);
        await store.login(req, await store.beginLogin(JSON.parse(body) as string));
        res.json({ ok: true });
      });
      app.get("/who", (req, res) => res.json({ user: loginOf(req)?.userId ?? null }));
    },
  });
}

async function signIn(base: string, device: Browser, userId: unknown): Promise<number> {
  const response = await fetch(`${base}/as`, {
    method: "POST",
    headers: { "Content-Type": "application/octet-stream" },
    body: JSON.stringify(userId),
  });
  for (const line of response.headers.getSetCookie()) {
    const [name = "", value = ""] = line.split(";")[0]?.split("=") ?? [];
    device.cookies.set(name, value);
  }
  await response.text();
  return response.status;
}

async function who(device: Browser): Promise<string | null> {
  return (await device.get("/who")).json<{ user: string | null }>().user;
}

for (const userId of ["7,5", "7,5,5", ",5", "7,", '7\n{"userId":"1"}', "7,5,at=1;n=x,{}"]) {
  test(`C14: a comma in the user ID: ${JSON.stringify(userId)} is never decided about by user 7's counter`, async () => {
    const { browser, base, client, store } = await odd();
    await client.set("user_login_age:7", "5");
    const device = browser();
    expect(await signIn(base, device, userId)).toBe(200);
    expect(await who(device)).toBe(userId);
    await client.incr("user_login_age:7");
    await store.logoutEverywhere("7");
    expect(await who(device)).toBe(userId);
    await client.del("user_login_age:7");
    expect(await who(device)).toBe(userId);
    await store.logoutEverywhere(userId);
    expect(await who(device)).toBeNull();
    const [seven, again] = [browser(), browser()];
    expect(await signIn(base, seven, "7")).toBe(200);
    expect(await signIn(base, again, userId)).toBe(200);
    await store.logoutEverywhere("7");
    expect([await who(seven), await who(again)]).toEqual([null, userId]);
    expect(store.listenerCount("error")).toBe(0);
  });
}

const ODD_IDS = [
  "auth0|5f",
  "a:b",
  "a:b:c",
  "a",
  "mira+x@ex.org",
  "👩‍🚀",
  "Jos\u00e9",
  "Jose\u0301",
  "line\nbreak",
  "nul\u0000x",
  "nul",
  "[object Object]",
  " ",
  "../x",
  "*",
  "[a-z]",
  "%2C",
  ",",
  "{7}",
  "\ufffd",
  "__proto__",
  "constructor",
  "0",
  "-1",
  "~taken:x",
  "é".repeat(250),
];

test("C15: each odd user ID works, and the logout of any other leaves it in", async () => {
  const { browser, base, client, store, errors } = await odd();
  const devices = new Map(ODD_IDS.map((userId) => [userId, browser()]));
  for (const [userId, device] of devices) expect(await signIn(base, device, userId)).toBe(200);
  expect(new Set(await client.keys("user_login_age:*")).size).toBe(ODD_IDS.length);
  const out = new Set<string>();
  const seen = async (): Promise<(string | null)[]> => Promise.all([...devices.values()].map(who));
  expect(await seen()).toEqual(ODD_IDS);
  for (const userId of ODD_IDS) {
    await store.logoutEverywhere(userId);
    out.add(userId);
    expect(await seen()).toEqual(ODD_IDS.map((it) => (out.has(it) ? null : it)));
  }
  expect(errors).toEqual([]);
});

test("C15: what is no user ID is refused at login and leaves nothing behind", async () => {
  const { browser, base, client, store, errors } = await odd();
  const refused = [
    "\ud83d",
    "\ude00",
    "a\ud83d",
    "",
    "é".repeat(10_000),
    "é".repeat(257),
    ",".repeat(171),
    {},
    [],
    null,
  ];
  for (const userId of [...refused, Number.NaN, 1.5, true]) {
    await expect(store.beginLogin(userId as string)).rejects.toThrow(TypeError);
    await expect(store.logoutEverywhere(userId as string)).rejects.toThrow(TypeError);
  }
  const device = browser();
  // JSON carries a lone surrogate as an escape, so this one arrives as it was sent.
  expect(await signIn(base, device, "\ud83d")).toBe(500);
  expect(await who(device)).toBeNull();
  expect(await client.keys("*")).toEqual([]);
  expect(errors.every((error) => error instanceof TypeError)).toBe(true);
});

test("C15: numbers, bigints and their decimal text are one user, and a record names exactly that", async () => {
  const { browser, base, client, store } = await odd();
  const devices = [browser(), browser()];
  expect(await signIn(base, devices[0] ?? browser(), 7)).toBe(200);
  expect(await signIn(base, devices[1] ?? browser(), "7")).toBe(200);
  expect(await client.get(`session:${sidOf(devices[0] ?? browser())}`)).toMatch(/^7,/);
  await store.logoutEverywhere(7n);
  expect(await Promise.all(devices.map(who))).toEqual([null, null]);
});
