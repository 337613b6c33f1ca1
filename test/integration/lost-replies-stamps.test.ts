import { expect, test } from "vitest";
import { loginOf } from "../../src/index.js";
import { confirmGeneration } from "../../src/session/scripts/confirm-generation.js";
import { insertRecord } from "../../src/session/scripts/insert-record.js";
import { updateRecord } from "../../src/session/scripts/update-record.js";
import type { TestAppOptions } from "../support/app.js";
import { sidOf, userOf } from "../support/app.js";
import { runs } from "../support/commands.js";
import { warmedUp } from "../support/proxied-app.js";
import { eventually, liveSidsOf, recordsIn } from "../support/records.js";
import { regenerate, save } from "../support/session-calls.js";

const APP: TestAppOptions = {
  store: { userId: (data) => data["userId"] as string | undefined },
  routes: (app) => {
    app.post("/in-place/:userId", async (req, res) => {
      req.session["userId"] = req.params.userId;
      await save(req);
      req.session["seen"] = "yes";
      await save(req);
      res.json({ user: loginOf(req)?.userId ?? null, at: typeof loginOf(req)?.at });
    });
    app.post("/sign-in/:userId", async (req, res) => {
      await regenerate(req);
      req.session["userId"] = req.params.userId;
      await save(req);
      res.json({ user: loginOf(req)?.userId ?? null });
    });
    app.post("/sign-out", async (req, res) => {
      delete req.session["userId"];
      await save(req);
      req.session["seen"] = "yes";
      res.json({});
    });
  },
};

for (const cut of ["cutAfter", "cutBefore"] as const) {
  for (const script of [updateRecord, confirmGeneration]) {
    test(`G5: a login in place that the driver sends again at ${script.name} is recognised (${cut})`, async () => {
      const app = await warmedUp(true, APP);
      const device = app.browser();
      await device.post("/set/cart/full");
      const happened = app.proxy[cut](runs(script));
      const page = await device.post("/in-place/mira");
      await happened;
      expect([page.status, page.json()]).toEqual([200, { user: "mira", at: "number" }]);
      const data = { cart: "full", userId: "mira", seen: "yes" };
      expect((await device.get("/me")).json()).toEqual({ user: "mira", data });
      expect(await liveSidsOf(app.client, "mira")).toEqual([sidOf(device)]);
      expect([app.errors, app.events.filter((event) => event.startsWith("fenced"))]).toEqual([[], []]);
    });
  }

  test(`G5: a logout in place that the driver sends again is recognised (${cut})`, async () => {
    const app = await warmedUp(true, APP);
    const device = app.browser();
    await device.post("/in-place/mira");
    const happened = app.proxy[cut](runs(updateRecord));
    expect((await device.post("/sign-out")).status).toBe(200);
    await happened;
    expect((await device.get("/me")).json()).toEqual({ user: null, data: { seen: "yes" } });
    expect(await liveSidsOf(app.client, "mira")).toEqual([]);
    expect(app.errors).toEqual([]);
  });

  for (const script of [insertRecord, confirmGeneration]) {
    test(`G6: a sign-in by the userId option that is answered 503 is none (${cut} at ${script.name})`, async () => {
      const app = await warmedUp(false, APP);
      const device = app.browser();
      await device.post("/set/cart/full");
      const happened = app.proxy[cut](runs(script));
      const page = await device.post("/sign-in/mira");
      await happened;
      expect(page.status).toBe(503);
      expect(await eventually(async () => (await liveSidsOf(app.client, "mira")).length === 0)).toBe(true);
      expect(await userOf(device)).toBeNull();
      expect((await device.post("/sign-in/mira")).status).toBe(200);
      expect(await userOf(device)).toBe("mira");
      expect((await recordsIn(app.client)).filter(({ isLive }) => isLive)).toHaveLength(1);
    });
  }
}
