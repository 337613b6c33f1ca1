import { describe, expect, test } from "vitest";
import { userOf } from "../support/app.js";
import { DUPLICATE, submit, tokenApp, tokenFor } from "../support/token-app.js";

describe("R-T rows", () => {
  test("R-T1: tokens are random, stored with their life, which a form may choose", async () => {
    const { browser, client } = await tokenApp();
    const device = browser();
    const tokens = await Promise.all(Array.from({ length: 20 }, () => tokenFor(device)));
    expect(new Set(tokens).size).toBe(20);
    const [token = ""] = tokens;
    expect(token).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
    const ttlMs = await client.pttl(`submit:token:${token}`);
    expect(ttlMs).toBeGreaterThan(590_000);
    expect(ttlMs).toBeLessThanOrEqual(600_000);
    const short = await tokenApp({ issue: { ttlMs: 5_000 } });
    const ofForm = await tokenFor(short.browser());
    expect(await short.client.pttl(`submit:token:${ofForm}`)).toBeLessThanOrEqual(5_000);
  });

  test("R-T2: the token comes as a field or a header, never in the query", async () => {
    const { browser, tokens, runs } = await tokenApp();
    const device = browser();
    const token = await tokenFor(device);
    expect(tokens.field(token)).toBe(`<input type="hidden" name="_submit_token" value="${token}" autocomplete="off">`);
    const inQuery = await device.post(`/submit?_submit_token=${token}`);
    expect([inQuery.status, inQuery.text]).toEqual([403, '{"error":"submit_token_missing"}']);
    expect((await device.post("/submit", {}, { "X-Submit-Token": token })).status).toBe(200);
    expect((await submit(device, await tokenFor(device))).status).toBe(200);
    expect(runs()).toBe(2);
  });

  test("R-T4: of many submits of one token exactly one passes, over two app instances", async () => {
    const one = await tokenApp();
    const other = await tokenApp({ store: { client: one.client } });
    const device = one.browser();
    await tokenFor(device);
    for (let round = 0; round < (process.env["THOROUGH"] === "1" ? 100 : 10); round += 1) {
      const token = await tokenFor(device);
      const second = other.browser();
      for (const [name, value] of device.cookies) second.cookies.set(name, value);
      const tries = Array.from({ length: 10 }, (_, index) => submit(index % 2 === 0 ? device : second, token));
      const pages = await Promise.all(tries);
      const losers = pages.filter(({ status }) => status !== 200);
      expect(losers.map(({ status, text }) => `${status} ${text}`)).toEqual(Array(9).fill(`409 ${DUPLICATE}`));
    }
  });

  test("R-T5: a token that was evicted or has expired is refused, and none is made in passing", async () => {
    const { browser, client, runs } = await tokenApp({ issue: { ttlMs: 1_000 } });
    const device = browser();
    const gone = await tokenFor(device);
    await client.del(`submit:token:${gone}`);
    expect((await submit(device, gone)).text).toBe('{"error":"submit_token_unknown"}');
    const late = await tokenFor(device);
    await new Promise((resolve) => setTimeout(resolve, 920));
    expect((await submit(device, late)).text).toBe('{"error":"submit_token_expired"}');
    const others = (await client.keys("submit:token:*")).filter((key) => key !== `submit:token:${late}`);
    expect([runs(), others]).toEqual([0, []]);
  });

  test("R-T6: a duplicate is told so, as JSON for scripts and as a page for people; 422 by option", async () => {
    const { browser } = await tokenApp();
    const device = browser();
    const token = await tokenFor(device);
    await submit(device, token);
    const json = await submit(device, token);
    expect([json.status, json.text, json.headers.get("cache-control")]).toEqual([409, DUPLICATE, "private, no-store"]);
    const page = await submit(device, token, { accept: "text/html,application/xhtml+xml,*/*;q=0.8" });
    expect([page.status, page.headers.get("content-type")]).toEqual([409, "text/html; charset=utf-8"]);
    expect(page.text).toContain("<h1>Already submitted</h1>");
    const other = await tokenApp({ protect: { duplicateStatus: 422 } });
    const second = other.browser();
    const again = await tokenFor(second);
    await submit(second, again);
    expect((await submit(second, again)).status).toBe(422);
  });

  test.each(["/logout", "/everywhere", "/others", "/rotate", "/login/mira"])(
    "R-T7, C48: a token dies with POST %s",
    async (change) => {
      const { signedIn, runs } = await tokenApp();
      const device = await signedIn("mira");
      const token = await tokenFor(device);
      expect((await device.post(change)).status).toBe(200);
      const page = await submit(device, token);
      expect([page.status, page.text, runs()]).toEqual([403, '{"error":"submit_token_invalid"}', 0]);
    },
  );

  test("R-T7, C48: a login in place by the userId option ends the tokens from before, the session ID stays", async () => {
    const { browser, runs } = await tokenApp({ store: { userId: (session) => session["user"] as string | undefined } });
    const device = browser();
    const token = await tokenFor(device);
    const cookie = device.cookies.get("connect.sid");
    await device.post("/set/user/mira");
    expect([await userOf(device), device.cookies.get("connect.sid")]).toEqual(["mira", cookie]);
    expect((await submit(device, token)).status).toBe(403);
    expect((await submit(device, await tokenFor(device))).status).toBe(200);
    expect(runs()).toBe(1);
  });

  test("R-T9: field and header are both demanded and must be equal", async () => {
    const { browser } = await tokenApp({ protect: { requireFieldAndHeader: true } });
    const device = browser();
    const [token, another] = [await tokenFor(device), await tokenFor(device)];
    expect((await submit(device, token)).text).toBe('{"error":"submit_token_missing"}');
    expect((await device.post("/submit", {}, { "X-Submit-Token": token })).status).toBe(403);
    expect((await submit(device, token, { "X-Submit-Token": another })).text).toBe('{"error":"submit_token_invalid"}');
    expect((await submit(device, token, { "X-Submit-Token": token })).status).toBe(200);
  });

  test("R-T10, C43: on-error gives the token back once; R-T11: never by default, also when the handler throws", async () => {
    let isFailing = true;
    const handler = (_req: unknown, res: { json(body: object): unknown }): void => {
      if (isFailing) throw Object.assign(new Error("no"), { status: 422 });
      res.json({ ok: true });
    };
    const lenient = await tokenApp({ protect: { release: "on-error" }, handler });
    const device = lenient.browser();
    const token = await tokenFor(device);
    expect((await submit(device, token)).status).toBe(422);
    isFailing = false;
    expect((await submit(device, token)).status).toBe(200);
    expect((await submit(device, token)).status).toBe(409);
    isFailing = true;
    const strict = await tokenApp({ handler });
    const other = strict.browser();
    const spent = await tokenFor(other);
    expect((await submit(other, spent)).status).toBe(422);
    isFailing = false;
    expect((await submit(other, spent)).text).toBe(DUPLICATE);
    expect((await submit(other, await tokenFor(other))).status).toBe(200);
  });

  test("R-T10: a commit with a location that is none still commits: the token is not given back", async () => {
    const { browser, runs } = await tokenApp({
      protect: { release: "on-error" },
      handler: async (req, res) => {
        await req.submitToken?.commit({ location: "not a location" });
        res.end();
      },
    });
    const device = browser();
    const token = await tokenFor(device);
    expect((await submit(device, token)).status).toBe(500);
    expect([(await submit(device, token)).status, runs()]).toEqual([409, 1]);
  });
});
