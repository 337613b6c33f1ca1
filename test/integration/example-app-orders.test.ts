import { once } from "node:events";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Browser, Page } from "../support/browser.js";
import { BUILD_TIMEOUT_MS } from "../support/build.js";
import {
  type ExampleApp,
  freshRedisUrl,
  isSignInPage,
  noticeOn,
  signIn,
  spawnExampleApp,
  startExampleApp,
} from "../support/example-app.js";

const HTML = { accept: "text/html" };
const ORDER = { item: "tea", quantity: "2", note: "" };
const SLOW_MS = 400;

function tokenIn({ text }: Page): string {
  return /name="_submit_token" value="([^"]+)"/.exec(text)?.[1] ?? "";
}

async function openForm(device: Browser): Promise<string> {
  const page = await device.get("/order");
  expect([page.status, page.headers.get("cache-control")]).toEqual([200, "private, no-store"]);
  return tokenIn(page);
}

function send(device: Browser, token: string, order: object = {}): Promise<Page> {
  return device.post("/orders", { _submit_token: token, ...ORDER, ...order }, HTML);
}

async function ordersOf(device: Browser): Promise<string[]> {
  const { text } = await device.get("/orders");
  return [...text.matchAll(/href="(\/orders\/\d+)"/g)].map(([, path = ""]) => path);
}

describe.each(["the embedded store", "Redis"])("the order form on %s", (place) => {
  let shop: ExampleApp;

  beforeAll(async () => {
    const redis = place === "Redis" ? { REDIS_URL: (await freshRedisUrl()).url } : {};
    shop = await startExampleApp({ ...redis, ORDER_DELAY_MS: String(SLOW_MS) });
  }, BUILD_TIMEOUT_MS);
  afterAll(() => shop?.stop());

  test("C42: a double click orders once, and the loser sees the order", async () => {
    const device = await shop.signedIn("alice");
    const before = await ordersOf(device);
    const token = await openForm(device);
    const pages = await Promise.all([send(device, token), send(device, token), send(device, token)]);
    const [won, ...more] = pages.filter(({ status }) => status === 303);
    const lost = pages.filter(({ status }) => status === 409);
    expect([more.length, lost.length]).toEqual([0, 2]);
    const location = won?.headers.get("location") ?? "";
    for (const { text, headers } of lost) {
      expect(text).toContain("<h1>Your order went through</h1>");
      expect(text).toContain(`<a href="${location}">See the order</a>`);
      expect(headers.get("cache-control")).toBe("private, no-store");
    }
    expect(await ordersOf(device)).toEqual([location, ...before]);
    expect((await device.get(location)).text).toContain("2 × Black tea, 100 g");
  });

  test("C42: a script that sends twice gets the error as JSON, and a link", async () => {
    const device = await shop.signedIn("bob");
    const token = await openForm(device);
    const asScript = { accept: "*/*", "x-submit-token": token };
    const first = await device.post("/orders", ORDER, asScript);
    const second = await device.post("/orders", ORDER, asScript);
    expect([first.status, second.status, second.text]).toEqual([303, 409, '{"error":"duplicate_submission"}']);
    expect(second.headers.get("link")).toBe(`<${first.headers.get("location")}>; rel="describedby"`);
  });

  test("C44: back button and reload: the old form is refused with the way on, the form fetched anew works", async () => {
    const device = await shop.signedIn("alice");
    const token = await openForm(device);
    const location = (await send(device, token)).headers.get("location");
    for (const again of [await send(device, token), await send(device, token, { quantity: "3" })]) {
      expect(again.status).toBe(409);
      expect(again.text).toContain(`<a href="${location}">See the order</a> · <a href="/order">`);
    }
    expect((await ordersOf(device))[0]).toBe(location);
    expect((await send(device, await openForm(device))).status).toBe(303);
  });

  test("C44: three tabs, sent in another order, are three orders", async () => {
    const device = await shop.signedIn("bob");
    const before = await ordersOf(device);
    const tabs = [await openForm(device), await openForm(device), await openForm(device)];
    for (const index of [1, 0, 2]) expect((await send(device, tabs[index] ?? "")).status).toBe(303);
    expect(await ordersOf(device)).toHaveLength(before.length + 3);
  });

  test("R-T7: two devices order independently, and neither can use the other's form", async () => {
    const [one, other] = await Promise.all([shop.signedIn("alice"), shop.signedIn("alice")]);
    const [token, others] = [await openForm(one), await openForm(other)];
    const page = await send(one, others);
    expect(page.status).toBe(403);
    expect(noticeOn(page)).toMatch(/^The form was of an earlier session/);
    expect([(await send(one, token)).status, (await send(other, others)).status]).toEqual([303, 303]);
    // The refused page brought a form with a token of its own.
    expect((await send(one, tokenIn(page))).status).toBe(303);
  });

  test("R-T7: logged out everywhere in between: the open form orders nothing, also after signing in again", async () => {
    const [one, other] = await Promise.all([shop.signedIn("alice"), shop.signedIn("alice")]);
    const before = await ordersOf(one);
    const token = await openForm(one);
    await other.post("/log-out-everywhere");
    const refused = await send(one, token);
    expect([refused.status, isSignInPage(refused)]).toEqual([401, true]);
    await signIn(one, "alice");
    expect((await send(one, token)).status).toBe(403);
    expect(await ordersOf(one)).toEqual(before);
  });

  test("C43: what was wrong can be corrected on the page that says so", async () => {
    const device = await shop.signedIn("alice");
    const note = "For <Ann> & \"Bo\"\nby 'noon'";
    const token = await openForm(device);
    const page = await send(device, token, { item: "jam", quantity: "200", note });
    expect([page.status, noticeOn(page)]).toEqual([422, "How many: a whole number from 1 to 20. Nothing was ordered."]);
    expect(page.text).toContain('<option value="jam" selected>');
    expect(page.text).toContain('value="200"');
    // A reload sends the same again.
    expect((await send(device, token, { item: "jam", quantity: "200", note })).status).toBe(422);
    const corrected = await send(device, tokenIn(page), { item: "jam", quantity: "20", note });
    expect(corrected.status).toBe(303);
    expect((await device.follow(corrected)).text).toContain("20 × Orange marmalade");
  });
});

describe("the order form", () => {
  let shop: ExampleApp;
  let alice: Browser;

  beforeAll(async () => {
    shop = await startExampleApp();
    alice = await shop.signedIn("alice");
  }, BUILD_TIMEOUT_MS);
  afterAll(() => shop?.stop());

  test.each([
    [{ quantity: "0" }, /^How many/],
    [{ quantity: "21" }, /^How many/],
    [{ quantity: "-1" }, /^How many/],
    [{ quantity: "1.5" }, /^How many/],
    [{ quantity: "1e1" }, /^How many/],
    [{ quantity: "０１" }, /^How many/],
    [{ quantity: " 1" }, /^How many/],
    [{ quantity: "" }, /^How many/],
    [{ item: "gold" }, /^Please choose something/],
    [{ item: "__proto__" }, /^Please choose something/],
    [{ note: "x".repeat(201) }, /^The note has more than 200/],
  ])("refuses %o and orders nothing", async (order, message) => {
    const page = await send(alice, await openForm(alice), order);
    expect([page.status, noticeOn(page)]).toEqual([422, expect.stringMatching(message)]);
    expect(await ordersOf(alice)).toEqual([]);
  });

  test("what is typed is shown as text", async () => {
    const bob = await shop.signedIn("bob");
    const note = `</textarea></dd><script>alert("1")</script>`;
    const escaped = "&lt;/textarea&gt;&lt;/dd&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;";
    const refused = await send(bob, await openForm(bob), { note, quantity: '"><script>' });
    const placed = await bob.follow(await send(bob, tokenIn(refused), { note }));
    for (const { text } of [refused, placed]) {
      expect(text).toContain(escaped);
      expect(text.match(/<script/g)?.length ?? 0).toBe(text === refused.text ? 1 : 0);
    }
    expect(refused.text).toContain('value="&quot;&gt;&lt;script&gt;"');
  });

  test("without a token nothing is ordered", async () => {
    const carol = await shop.signedIn("carol");
    const page = await carol.post("/orders", ORDER, HTML);
    expect([page.status, noticeOn(page)]).toEqual([403, expect.stringMatching(/^The form could not be checked/)]);
    expect((await carol.post("/orders", ORDER)).text).toBe('{"error":"submit_token_missing"}');
    expect(await ordersOf(carol)).toEqual([]);
  });

  test("orders are shown to the one who placed them", async () => {
    const carol = await shop.signedIn("carol");
    const path = (await send(carol, await openForm(carol))).headers.get("location") ?? "";
    expect((await carol.get(path)).status).toBe(200);
    expect((await alice.get(path)).status).toBe(404);
    expect(await ordersOf(alice)).toEqual([]);
    for (const address of ["/order", "/orders", path, "/submit-token?action=order"]) {
      const page = await shop.browser().get(address);
      expect([page.status, isSignInPage(page)]).toEqual([401, true]);
    }
  });

  test("the page may run the shop's own script and no other", async () => {
    const page = await alice.get("/order");
    const policy = page.headers.get("content-security-policy") ?? "";
    expect(policy.split("; ")).toEqual(expect.arrayContaining(["script-src 'self'", "connect-src 'self'"]));
    expect(policy).not.toMatch(/unsafe|\*/);
    const script = await shop.browser().get("/submit-tokens.js");
    expect([script.status, script.setCookies]).toEqual([200, []]);
    const fresh = (await alice.get("/submit-token?action=order")).json<{ token: string }>();
    expect((await send(alice, fresh.token)).status).toBe(303);
  });
});

test("G6: logged out everywhere while the order is being placed: nothing is ordered", async () => {
  const { url, port, db } = await freshRedisUrl();
  const shop = await startExampleApp({ REDIS_URL: url, ORDER_DELAY_MS: "2000" });
  const redis = new Redis({ port, db });
  onTestFinished(async () => {
    redis.disconnect();
    await shop.stop();
  });
  const [one, other] = await Promise.all([shop.signedIn("bob"), shop.signedIn("bob")]);
  const token = await openForm(one);
  const unspent = await redis.get(`submit:token:${token}`);
  const sending = send(one, token);
  await expect.poll(() => redis.get(`submit:token:${token}`), { interval: 10 }).not.toBe(unspent);
  await other.post("/log-out-everywhere");
  const page = await sending;
  expect([page.status, noticeOn(page)]).toEqual([409, expect.stringMatching(/^While that was going on/)]);
  await signIn(one, "bob");
  expect(await ordersOf(one)).toEqual([]);
});

test("SUBMIT_TOKEN_SECRET: open forms outlive a restart, and another process takes them", async () => {
  const settings = {
    REDIS_URL: (await freshRedisUrl()).url,
    SESSION_SECRET: "the secret of this test",
    SUBMIT_TOKEN_SECRET: "a secret of this test, long enough: 0123456789abc",
  };
  const first = await startExampleApp(settings);
  expect(first.output()).not.toContain("SECRET");
  const device = await first.signedIn("alice");
  const token = await openForm(device);
  const { port } = new URL(first.base);
  await first.stop();
  const second = await startExampleApp({ ...settings, PORT: port });
  onTestFinished(async () => void (await second.stop()));
  expect((await send(device, token)).status).toBe(303);
});

test("SUBMIT_TOKEN_SECRET: a weak one ends the start in production", async () => {
  for (const secret of ["short", "a".repeat(64)]) {
    const { child, output } = spawnExampleApp({ NODE_ENV: "production", SUBMIT_TOKEN_SECRET: secret });
    const [code] = await once(child, "close");
    expect(code).toBe(1);
    expect(output()).toMatch(/^SUBMIT_TOKEN_SECRET: expected 32 random bytes or more[^\n]*\n$/);
  }
});
