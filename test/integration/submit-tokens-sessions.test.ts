import { expect, test } from "vitest";
import { userOf } from "../support/app.js";
import { DUPLICATE, submit, type TokenApp, tokenApp, tokenFor } from "../support/token-app.js";

test("C48: a sign-in form carries a token of the visitor's session; the page after it gets a new one", async () => {
  const shop: TokenApp = await tokenApp({
    before: (app, tokens) => {
      app.post("/sign-in", tokens.protect(), async (req, res) => {
        await shop.store.login(req, await shop.store.beginLogin("mira"));
        res.send(await tokens.issue(req));
      });
    },
  });
  const device = shop.browser();
  const signIn = (token: string) => device.post("/sign-in", { _submit_token: token });
  // Signing somebody in by another site's page needs a token as well.
  expect((await signIn("")).text).toBe('{"error":"submit_token_missing"}');
  const token = await tokenFor(device);
  const after = await signIn(token);
  expect([after.status, after.headers.get("cache-control"), await userOf(device)]).toEqual([
    200,
    "private, no-store",
    "mira",
  ]);
  expect((await signIn(token)).text).toBe('{"error":"submit_token_invalid"}');
  expect((await submit(device, after.text)).status).toBe(200);
  expect((await submit(device, after.text)).text).toBe(DUPLICATE);
});

test("C48: a session that ends while the form is being handled: the token stays spent, and dies with it", async () => {
  for (const end of ["destroy", "regenerate"] as const) {
    const { browser, client, runs } = await tokenApp({
      handler: (req, res, next) => {
        req.session[end]((error) => (error ? next(error) : res.json({ ok: true })));
      },
    });
    const device = browser();
    const token = await tokenFor(device);
    const thief = device.clone();
    expect((await submit(device, token)).text).toBe('{"ok":true}');
    expect(await client.get(`submit:token:${token}`)).toMatch(/^spent,/);
    for (const each of [device, thief]) expect((await submit(each, token)).status).toBe(403);
    expect(runs()).toBe(1);
  }
});

test("R-T7: a record that came back after its logout opens no door for its tokens", async () => {
  const { client, signedIn, runs } = await tokenApp();
  const device = await signedIn("mira");
  const token = await tokenFor(device);
  const [name = ""] = await client.keys("session:*");
  const record = (await client.get(name)) ?? "";
  const thief = device.clone();
  await device.post("/everywhere");
  // As by a bug, or a restored dump.
  await client.set(name, record);
  expect((await submit(thief, token)).text).toBe('{"error":"submit_token_invalid"}');
  // Even under the new generation: it is another login.
  const generation = await client.get("user_login_age:mira");
  await client.set(name, record.replace(/,\d+/, `,${generation}`));
  expect(await userOf(thief)).toBe("mira");
  expect((await submit(thief, token)).text).toBe('{"error":"submit_token_invalid"}');
  expect(runs()).toBe(0);
});
