import { expect, test } from "vitest";
import { confirmGeneration } from "../../src/session/scripts/confirm-generation.js";
import { insertRecord } from "../../src/session/scripts/insert-record.js";
import { saveRecords } from "../../src/session/scripts/save-records.js";
import { takeRecord } from "../../src/session/scripts/take-record.js";
import { sidOf, userOf } from "../support/app.js";
import { runs } from "../support/commands.js";
import { warmedUp } from "../support/proxied-app.js";
import { eventually, liveSidsOf, recordsIn } from "../support/records.js";

const CUTS = ["cutAfter", "cutBefore"] as const;
const RESENDS = [true, false];

for (const isResent of RESENDS) {
  for (const cut of CUTS) {
    const circumstances = `${cut}, autoResendUnfulfilledCommands: ${isResent}`;

    for (const script of [insertRecord, confirmGeneration]) {
      test(`G6: a login meets a broken connection at ${script.name} (${circumstances})`, async () => {
        const app = await warmedUp(isResent);
        const device = app.browser();
        await device.post("/set/cart/full");
        const before = sidOf(device);
        const happened = app.proxy[cut](runs(script));
        const page = await device.post("/login/mira");
        await happened;
        if (isResent) {
          expect(page.status).toBe(200);
          expect(await userOf(device)).toBe("mira");
          expect((await recordsIn(app.client)).map(({ sid, user }) => [sid, user])).toEqual([[sidOf(device), "mira"]]);
        } else {
          expect([page.status, page.setCookies]).toEqual([503, []]);
          expect(sidOf(device)).toBe(before);
          expect((await device.get("/me")).json()).toEqual({ user: null, data: { cart: "full" } });
          expect(await eventually(async () => (await recordsIn(app.client)).length === 1)).toBe(true);
        }
        expect((await device.post("/login/mira")).status).toBe(200);
        expect(await liveSidsOf(app.client, "mira")).toEqual([sidOf(device)]);
      });
    }

    test(`G5: an anonymous insert meets a broken connection (${circumstances})`, async () => {
      const app = await warmedUp(isResent);
      const device = app.browser();
      const happened = app.proxy[cut](runs(insertRecord));
      const page = await device.post("/set/cart/full");
      await happened;
      // express-session answers first and reports the error to the handler behind it.
      expect(page.status).toBe(200);
      expect(await eventually(async () => app.errors.length === (isResent ? 0 : 1))).toBe(true);
      expect((await device.post("/set/more/yes")).status).toBe(200);
      const data = isResent || cut === "cutAfter" ? { cart: "full", more: "yes" } : { more: "yes" };
      expect((await device.get("/me")).json()).toEqual({ user: null, data });
      expect(await recordsIn(app.client)).toHaveLength(1);
    });

    for (const script of [insertRecord, takeRecord]) {
      test(`G6: rotate meets a broken connection at ${script.name} (${circumstances})`, async () => {
        const app = await warmedUp(isResent);
        const device = await app.signedIn("mira");
        const before = sidOf(device);
        const happened = app.proxy[cut](runs(script));
        const page = await device.post("/rotate");
        await happened;
        expect(page.status).toBe(isResent ? 200 : 503);
        expect(sidOf(device) === before).toBe(!isResent);
        // A record whose taking got no answer may be gone: then the device is out, and nobody else is in.
        const isOut = !isResent && script === takeRecord && cut === "cutAfter";
        expect(await userOf(device)).toBe(isOut ? null : "mira");
        const sids = isOut ? [] : [sidOf(device)];
        expect(await eventually(async () => (await liveSidsOf(app.client, "mira")).length === sids.length)).toBe(true);
        expect(await liveSidsOf(app.client, "mira")).toEqual(sids);
      });
    }

    test(`G5: a save meets a broken connection (${circumstances})`, async () => {
      const app = await warmedUp(isResent);
      const device = await app.signedIn("mira");
      const happened = app.proxy[cut](runs(saveRecords));
      await device.post("/set/a/1");
      await happened;
      expect(await eventually(async () => app.errors.length === (isResent ? 0 : 1))).toBe(true);
      const isSaved = isResent || cut === "cutAfter";
      expect((await device.get("/me")).json()).toEqual({ user: "mira", data: isSaved ? { a: "1" } : {} });
      await device.post("/set/b/2");
      expect((await device.get("/me")).json<{ data: object }>().data).toEqual({
        ...(isSaved ? { a: "1" } : {}),
        b: "2",
      });
      expect(app.events).toEqual(expect.not.arrayContaining(["fenced:ended"]));
    });
  }
}
