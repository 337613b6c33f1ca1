import { expect, test } from "vitest";
import { endRecord } from "../../src/session/scripts/end-record.js";
import { insertRecord } from "../../src/session/scripts/insert-record.js";
import { raiseGeneration } from "../../src/session/scripts/raise-generation.js";
import { takeRecord } from "../../src/session/scripts/take-record.js";
import { sidOf, userOf } from "../support/app.js";
import { runs } from "../support/commands.js";
import { warmedUp } from "../support/proxied-app.js";
import { eventually, liveSidsOf } from "../support/records.js";

const CUTS = ["cutAfter", "cutBefore"] as const;

for (const isResent of [true, false]) {
  for (const cut of CUTS) {
    const circumstances = `${cut}, autoResendUnfulfilledCommands: ${isResent}`;

    for (const script of [raiseGeneration, insertRecord, takeRecord]) {
      test(`G8: logoutOthers meets a broken connection at ${script.name} (${circumstances})`, async () => {
        const app = await warmedUp(isResent);
        const [device, thief] = [await app.signedIn("mira"), await app.signedIn("mira")];
        const happened = app.proxy[cut](runs(script));
        const page = await device.post("/others");
        await happened;
        const hadNoEffect = !isResent && script === raiseGeneration && cut === "cutBefore";
        expect(page.status).toBe(isResent ? 200 : 503);
        if (script === raiseGeneration && !isResent) expect(page.json()).toEqual({ code: "ERR_LOGOUT_UNCONFIRMED" });
        expect(await userOf(thief)).toBe(hadNoEffect ? "mira" : null);
        expect(await userOf(device)).toBe(isResent || hadNoEffect ? "mira" : null);
        const expected = isResent ? 1 : hadNoEffect ? 2 : 0;
        expect(await eventually(async () => (await liveSidsOf(app.client, "mira")).length === expected)).toBe(true);
      });
    }

    test(`G8: logoutEverywhere meets a broken connection (${circumstances})`, async () => {
      const app = await warmedUp(isResent);
      const [device, other] = [await app.signedIn("mira"), await app.signedIn("mira")];
      const happened = app.proxy[cut](runs(raiseGeneration));
      const page = await device.post("/everywhere");
      await happened;
      const hadNoEffect = !isResent && cut === "cutBefore";
      expect(page.status).toBe(isResent ? 200 : 503);
      expect([await userOf(device), await userOf(other)]).toEqual(hadNoEffect ? ["mira", "mira"] : [null, null]);
      if (!isResent) {
        expect(page.json()).toEqual({ code: "ERR_LOGOUT_UNCONFIRMED" });
        await app.store.logoutEverywhere("mira");
      }
      expect([await userOf(device), await userOf(other)]).toEqual([null, null]);
    });

    test(`G8: destroy meets a broken connection (${circumstances})`, async () => {
      const app = await warmedUp(isResent);
      const [device, other] = [await app.signedIn("mira"), await app.signedIn("mira")];
      const happened = app.proxy[cut](runs(endRecord));
      const page = await device.post("/logout");
      await happened;
      const hadNoEffect = !isResent && cut === "cutBefore";
      expect(page.status).toBe(isResent ? 200 : 503);
      expect(await userOf(device)).toBe(hadNoEffect ? "mira" : null);
      expect((await device.post("/logout")).status).toBe(200);
      expect([await userOf(device), await userOf(other)]).toEqual([null, "mira"]);
      expect(await liveSidsOf(app.client, "mira")).toEqual([sidOf(other)]);
    });
  }
}
