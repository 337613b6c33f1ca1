import { describe, expect, test } from "vitest";
import { testApp, userOf } from "../support/app.js";
import type { Browser } from "../support/browser.js";
import { Gate } from "../support/gate.js";

describe("R-G8: as complete as DELETE FROM user_login_session WHERE user_id = …", () => {
  test("R-G8: whatever is in flight while it happens, nobody is missed", async () => {
    const gates = { login: new Gate(), save: new Gate(), rotate: new Gate(), again: new Gate() };
    const { signedIn, browser, store } = await testApp({
      routes: (app, itself) => {
        app.post("/slow-login/:userId", async (req, res) => {
          const attempt = await itself.beginLogin(req.params.userId);
          await gates.login.pass();
          await itself.login(req, attempt);
          res.end();
        });
        app.post("/slow-save", async (req, res) => {
          await gates.save.pass();
          req.session["seen"] = true;
          res.end();
        });
        app.post("/slow-rotate", async (req, res) => {
          await gates.rotate.pass();
          await itself.rotate(req);
          res.end();
        });
        app.post("/slow-others", async (req, res) => {
          await gates.again.pass();
          await itself.logoutOthers(req);
          res.end();
        });
      },
    });
    const late = browser();
    const [saving, rotating, ousting, other] = await Promise.all(["100", "100", "100", "200"].map(signedIn));
    if (!saving || !rotating || !ousting || !other) throw new Error("four devices");
    const inFlight = [
      late.post("/slow-login/100"),
      saving.post("/slow-save"),
      rotating.post("/slow-rotate"),
      ousting.post("/slow-others"),
    ];
    await Promise.all(Object.values(gates).map((gate) => gate.arrived));
    const { generation } = await store.logoutEverywhere("100");
    for (const gate of Object.values(gates)) gate.open();
    const statuses = (await Promise.all(inFlight)).map((page) => page.status);
    expect(statuses.slice(0, 2)).toEqual([409, 200]);
    expect(statuses[3]).toBe(409);
    for (const device of [late, saving, rotating, ousting]) expect(await userOf(device)).toBeNull();
    expect(await userOf(other)).toBe("200");
    // The thief-like logoutOthers that lost has not raised it once more.
    expect(await store.generation("100")).toBe(generation);
  });

  test("R-G8: any order of logins and logouts leaves the same devices in as the table would", async () => {
    const { browser, client, store } = await testApp();
    const random = randomNumbers(20_260);
    const users = ["100", "200", "100,1"];
    const table = new Map<Browser, string>();
    const devices = Array.from({ length: 6 }, browser);
    for (let step = 0; step < 80; step += 1) {
      const device = devices[random(devices.length)] ?? browser();
      const user = users[random(users.length)] ?? "100";
      const action = random(6);
      if (action <= 2) {
        expect((await device.post(`/login/${encodeURIComponent(user)}`)).status).toBe(200);
        table.set(device, user);
      } else if (action === 3) {
        await device.post("/logout");
        table.delete(device);
      } else {
        if (action === 4) await store.logoutEverywhere(user);
        else await client.incr(`user_login_age:${user.replace(",", "%2C")}`);
        for (const [row, owner] of table) if (owner === user) table.delete(row);
      }
      expect(await Promise.all(devices.map(userOf))).toEqual(devices.map((each) => table.get(each) ?? null));
    }
    // The embedded mock runs Lua in JavaScript: slowly.
  }, 60_000);
});

/** Reproducible numbers (a linear congruential generator), each below `limit`. */
function randomNumbers(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return Math.floor((state / 2 ** 32) * limit);
  };
}
