import { expect, test } from "vitest";
import { sidOf, userOf } from "../support/app.js";
import { Gate } from "../support/gate.js";
import { jitter, RANDOM, rounds } from "../support/jitter.js";
import { passportApp } from "../support/passport-app.js";
import { liveSidsOf, recordsIn } from "../support/records.js";

test("C03: Passport, beginLogin(id, req) in verify: a login with the old password does not survive its change", async () => {
  const gate = new Gate();
  let isHeldUp = false;
  const app = await passportApp({
    pause: async (_user, when) => {
      if (isHeldUp && when === "after the check") await gate.pass();
    },
  });
  const [owner, attacker] = [app.browser(), app.browser()];
  await owner.post("/sign-in", { username: "mira", password: "old" });
  isHeldUp = true;
  const late = attacker.post("/sign-in", { username: "mira", password: "old" });
  await gate.arrived;
  await app.store.logoutEverywhere("mira");
  gate.open();
  expect((await late).status).toBeLessThan(500);
  expect([await userOf(attacker), await userOf(owner)]).toEqual([null, null]);
  expect(await liveSidsOf(app.client, "mira")).toEqual([]);
  expect(app.events).toContain("fenced:superseded");
});

test(
  "C03: Passport, 150 random old-password logins beside the change, each by its owner's logoutOthers: 0 survive",
  RANDOM,
  async () => {
    const app = await passportApp({ pause: () => jitter(5) });
    const statuses = new Map<number, number>();
    await rounds(150, 6, async (index) => {
      const user = `u-${index}`;
      const owner = app.browser();
      expect((await owner.post("/sign-in", { username: user, password: "old" })).status).toBe(200);
      const attackers = [app.browser(), app.browser()];
      const late = attackers.map((attacker) => attacker.post("/sign-in", { username: user, password: "old" }));
      await jitter(10);
      expect((await owner.post("/change-password", { password: "new" })).status).toBe(200);
      for (const { status } of await Promise.all(late)) statuses.set(status, (statuses.get(status) ?? 0) + 1);
      expect(await Promise.all(attackers.map(userOf))).toEqual([null, null]);
      expect(await userOf(owner)).toBe(user);
      expect(await liveSidsOf(app.client, user)).toEqual([sidOf(owner)]);
    });
    expect(app.errors).toEqual([]);
    expect([...statuses.keys()].every((status) => status === 200 || status === 401)).toBe(true);
    expect(app.events).toContain("fenced:superseded");
  },
);

test(
  "C07: Passport, 100 random logouts beside slow requests of the same browser: out, other devices in",
  RANDOM,
  async () => {
    const app = await passportApp();
    const done = await rounds(100, 6, async (index) => {
      const user = `u-${index}`;
      const [device, other] = [app.browser(), app.browser()];
      for (const it of [device, other]) await it.post("/sign-in", { username: user, password: "old" });
      const slow = [1, 2, 3].map((value) => device.clone().post(`/set/late/${value}`));
      await jitter(6);
      const [out] = await Promise.all([device.post("/sign-out", { keep: String(index % 2) }), ...slow]);
      expect(out.status).toBe(302);
      expect([await userOf(device), await userOf(other)]).toEqual([null, user]);
      expect(await liveSidsOf(app.client, user)).toEqual([sidOf(other)]);
    });
    expect((await recordsIn(app.client)).filter(({ isLive }) => isLive)).toHaveLength(done);
    expect(app.errors).toEqual([]);
  },
);
