import { expect, test } from "vitest";
import { sidOf, userOf } from "../support/app.js";
import { passportApp } from "../support/passport-app.js";
import { eventually, liveSidsOf, recordsIn } from "../support/records.js";

const MIRA = { username: "mira", password: "old" };
const NOOR = { username: "noor", password: "old" };

test("C07: Passport's login without keepSessionInfo drops the cart and works at once", async () => {
  const { browser, client, errors } = await passportApp();
  const device = browser();
  await device.post("/set/cart/full");
  const before = sidOf(device);
  expect((await device.post("/sign-in", MIRA)).status).toBe(200);
  expect(sidOf(device)).not.toBe(before);
  expect((await device.get("/me")).json()).toEqual({ user: "mira", data: { passport: { user: "mira" } } });
  expect((await recordsIn(client)).map(({ sid }) => sid)).toEqual([sidOf(device)]);
  expect(errors).toEqual([]);
});

test("C07: Passport's login with keepSessionInfo keeps the cart", async () => {
  const { browser, client, errors } = await passportApp();
  const device = browser();
  await device.post("/set/cart/full");
  await device.post("/sign-in", { ...MIRA, keep: "1" });
  expect((await device.get("/me")).json()).toEqual({
    user: "mira",
    data: { cart: "full", passport: { user: "mira" } },
  });
  expect(await liveSidsOf(client, "mira")).toEqual([sidOf(device)]);
  expect(errors).toEqual([]);
});

for (const keep of ["0", "1"]) {
  test(`C07: a user switch with keepSessionInfo=${keep} is bound to the new user alone`, async () => {
    const { browser, client, store, errors } = await passportApp();
    await client.set("user_login_age:mira", "3");
    await client.set("user_login_age:noor", "7");
    const device = browser();
    await device.post("/sign-in", MIRA);
    await device.post("/set/cart/full");
    await device.post("/sign-in", { ...NOOR, keep });
    const [record, ...others] = await recordsIn(client);
    expect([record?.sid, record?.user, record?.generation, others]).toEqual([sidOf(device), "noor", "7", []]);
    expect(record?.text.includes("mira")).toBe(false);
    await store.logoutEverywhere("mira");
    expect(await userOf(device)).toBe("noor");
    await store.logoutEverywhere("noor");
    expect(await userOf(device)).toBeNull();
    expect(errors).toEqual([]);
  });

  test(`C08: after Passport's logout (keepSessionInfo=${keep}) the redirected page is anonymous, 100 times`, async () => {
    const { browser, client, errors } = await passportApp();
    const device = browser();
    for (let round = 0; round < 100; round += 1) {
      expect((await device.post("/sign-in", { ...MIRA, keep })).status).toBe(200);
      const page = await device.follow(await device.post("/sign-out", { keep }));
      expect([page.status, page.json()["user"]]).toEqual([200, null]);
      if (round % 10 === 0) expect(await liveSidsOf(client, "mira")).toEqual([]);
    }
    // At most the one anonymous record of this browser.
    expect(await eventually(async () => (await recordsIn(client)).length <= 1)).toBe(true);
    expect((await recordsIn(client)).every(({ user }) => user === "")).toBe(true);
    expect(errors).toEqual([]);
  });
}

test("C07: a bare INCR ends a Passport session, and signing in again works", async () => {
  const { browser, client } = await passportApp();
  const device = browser();
  await device.post("/sign-in", MIRA);
  await client.incr("user_login_age:mira");
  expect(await userOf(device)).toBeNull();
  await device.post("/sign-in", MIRA);
  expect(await userOf(device)).toBe("mira");
});

test("C07: a wrong password logs nobody in and stores nothing", async () => {
  const { browser, client } = await passportApp();
  const device = browser();
  expect((await device.post("/sign-in", { ...MIRA, password: "wrong" })).status).toBe(401);
  expect(await userOf(device)).toBeNull();
  expect(await recordsIn(client)).toEqual([]);
});

test("C09: a password change with logoutOthers keeps this Passport session and ends the others", async () => {
  const { browser, client, errors } = await passportApp();
  const [a, b] = [browser(), browser()];
  await a.post("/sign-in", MIRA);
  await b.post("/sign-in", MIRA);
  expect((await a.post("/change-password", { password: "new" })).status).toBe(200);
  expect([await userOf(a), await userOf(b)]).toEqual(["mira", null]);
  expect((await b.post("/sign-in", MIRA)).status).toBe(401);
  expect((await b.post("/sign-in", { ...MIRA, password: "new" })).status).toBe(200);
  expect([await userOf(a), await userOf(b)]).toEqual(["mira", "mira"]);
  expect((await liveSidsOf(client, "mira")).sort()).toEqual([sidOf(a), sidOf(b)].sort());
  // Signing in again over a session that is in already is a login of its own.
  expect((await a.post("/sign-in", { ...MIRA, password: "new", keep: "1" })).status).toBe(200);
  expect(await userOf(a)).toBe("mira");
  expect(errors).toEqual([]);
});

test("G12: a Passport payload that names another user than the head is no session", async () => {
  const { browser, client, store, events } = await passportApp();
  const device = browser();
  await device.post("/sign-in", MIRA);
  await store.beginLogin("noor");
  const key = `session:${sidOf(device)}`;
  const record = (await client.get(key)) ?? "";
  await client.set(key, record.replace('{"user":"mira"}', '{"user":"noor"}'), "EX", 60);
  expect(await userOf(device)).toBeNull();
  expect(events).toEqual(["corrupt:user"]);
  await client.set(key, record, "EX", 60);
  expect(await userOf(device)).toBe("mira");
  await client.set(key, record.replace(/^mira,\d+,at=\d+;/, ",,"), "EX", 60);
  expect(await userOf(device)).toBeNull();
});
