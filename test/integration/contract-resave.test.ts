import { expect, test } from "vitest";
import { sidOf, testApp } from "../support/app.js";
import { Gate } from "../support/gate.js";

/** An application with a poll that reads, waits at the gate and ends without changing any data. */
async function pollingApp(resave: boolean) {
  const gate = new Gate();
  const app = await testApp({
    session: { resave, cookie: { maxAge: 60_000 } },
    routes: (routes) => {
      routes.get("/poll", async (req, res) => {
        if (req.query["remember"] !== undefined) req.session.cookie.maxAge = 3_600_000;
        await gate.pass();
        res.json({});
      });
    },
  });
  return { ...app, gate };
}

for (const resave of [true, false]) {
  // Names that look like integers come first in any object: the stored cookie must not move behind them.
  test.each(["color", "42"])(
    `G5: a poll that only reads does not undo a newer write to %s; resave ${resave}`,
    async (name) => {
      const { signedIn, gate } = await pollingApp(resave);
      const device = await signedIn("100");
      await device.post(`/set/${name}/old`);
      const poll = device.clone().get("/poll");
      await gate.arrived;
      await device.post(`/set/${name}/new`);
      gate.open();
      expect((await poll).status).toBe(200);
      expect((await device.get("/me")).json()).toEqual({ user: "100", data: { [name]: "new" } });
    },
  );

  test.each(["color", "42"])(
    `G5: "remember me" in such a poll changes the cookie and leaves a newer write to %s; resave ${resave}`,
    async (name) => {
      const { signedIn, gate, client } = await pollingApp(resave);
      const device = await signedIn("100");
      await device.post(`/set/${name}/old`);
      const poll = device.clone().get("/poll?remember");
      await gate.arrived;
      await device.post(`/set/${name}/new`);
      gate.open();
      expect((await poll).status).toBe(200);
      expect((await device.get("/me")).json()).toEqual({ user: "100", data: { [name]: "new" } });
      expect(await client.pttl(`session:${sidOf(device)}`)).toBeGreaterThan(3_500_000);
    },
  );
}
