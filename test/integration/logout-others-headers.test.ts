import { expect, test } from "vitest";
import { testApp, userOf } from "../support/app.js";

test("G6: logoutOthers after the response has begun changes nothing, so nobody is logged out by mistake", async () => {
  let code: unknown;
  const { signedIn, store } = await testApp({
    routes: (app, itself) => {
      app.post("/too-late", async (req, res) => {
        res.write("begun");
        await itself.logoutOthers(req).catch((error: { code?: string }) => {
          code = error.code;
        });
        res.end();
      });
    },
  });
  const [here, elsewhere] = await Promise.all([signedIn("100"), signedIn("100")]);
  const before = await store.generation("100");
  expect((await here.post("/too-late")).status).toBe(200);
  expect(code).toBe("ERR_HEADERS_SENT");
  expect(await store.generation("100")).toBe(before);
  expect([await userOf(here), await userOf(elsewhere)]).toEqual(["100", "100"]);
});
