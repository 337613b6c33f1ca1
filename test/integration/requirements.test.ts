import { expect, test } from "vitest";
import { sidOf, testApp, userOf } from "../support/app.js";

test("R-G1: login stores userId,generation under the session ID, for one day by default", async () => {
  const { signedIn, client } = await testApp();
  const device = await signedIn("100");
  const record = await client.get(`session:${sidOf(device)}`);
  const generation = await client.get("user_login_age:100");
  expect(generation).toMatch(/^[1-9][0-9]{15}$/);
  expect(record?.startsWith(`100,${generation},`)).toBe(true);
  const ttl = await client.pttl(`session:${sidOf(device)}`);
  expect(ttl).toBeGreaterThan(86_400_000 - 5_000);
  expect(ttl).toBeLessThanOrEqual(86_400_000 + 60_000);
});

test("R-G3: raising the generation logs out every device at once", async () => {
  const { signedIn, store } = await testApp();
  const devices = await Promise.all(Array.from({ length: 20 }, () => signedIn("100")));
  const other = await signedIn("200");
  await store.logoutEverywhere("100");
  expect(await Promise.all(devices.map(userOf))).toEqual(devices.map(() => null));
  expect(await userOf(other)).toBe("200");
});
