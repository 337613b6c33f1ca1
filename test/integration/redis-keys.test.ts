import { createHmac, randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { loginOf, requireLogin } from "../../src/index.js";
import { testApp, userOf } from "../support/app.js";

test("docs: another service signs a user in with the three commands of redis-keys.md", async () => {
  const { client, browser, store } = await testApp({
    routes: (app) => {
      app.get("/login", (req, res) => res.json(loginOf(req)));
      app.get("/recent", requireLogin({ maxAgeMs: 60_000 }), (_req, res) => res.end());
    },
  });
  expect(await client.get("user_login_age:100")).toBeNull();
  await client.set("user_login_age:100", String(Date.now() * 1_000), "NX");
  const generation = (await client.get("user_login_age:100")) ?? "";
  const sid = randomBytes(16).toString("hex");
  await client.setex(`session:${sid}`, 86_400, `100,${generation}`);
  await client.persist("user_login_age:100");

  const device = browser();
  const signature = createHmac("sha256", "test secret").update(sid).digest("base64").replace(/=+$/, "");
  device.cookies.set("connect.sid", encodeURIComponent(`s:${sid}.${signature}`));
  expect((await device.get("/login")).json()).toEqual({ userId: "100", generation });
  expect((await device.get("/recent")).json()).toEqual({ error: "login_too_old" });

  // The first save turns it into a full record with an empty meta.
  expect((await device.post("/set/theme/dark")).status).toBe(200);
  expect(await client.get(`session:${sid}`)).toBe(`100,${generation},,{"cookie":{},"theme":"dark"}`);
  expect((await device.get("/me")).json()).toEqual({ user: "100", data: { theme: "dark" } });

  await client.incr("user_login_age:100");
  expect(await userOf(device)).toBeNull();
  // A read has seen that it is dead: ten seconds at most are left.
  await expect.poll(() => client.pttl(`session:${sid}`)).toBeLessThanOrEqual(10_000);
  expect(await store.generation(100)).toBe(String(BigInt(generation) + 1n));
});
