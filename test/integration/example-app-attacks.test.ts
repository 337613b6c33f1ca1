import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AttackedShop, attackedShop, withMember } from "../support/attacked-shop.js";
import type { Browser } from "../support/browser.js";
import { BUILD_TIMEOUT_MS } from "../support/build.js";
import { type ExampleApp, shopBehindProxy } from "../support/example-app.js";
import {
  type Answer,
  cookieOf,
  expectPlainError,
  INTERNALS,
  PAYMENT,
  pay,
  paymentsOf,
  sendRaw,
} from "../support/payments.js";

let attacked: AttackedShop;
let shop: ExampleApp;
let twin: ExampleApp;
let alice: Browser;

beforeAll(async () => {
  attacked = await attackedShop();
  ({ shop, twin, alice } = attacked);
}, BUILD_TIMEOUT_MS);
afterAll(() => attacked?.stop());

describe("R-I7", () => {
  test("R-I7: injection through the key: it is opaque text, or it is refused", async () => {
    const before = await attacked.keysOf("*");
    const paid = (await paymentsOf(alice)).length;
    const opaque = [
      "*3%0d%0a$3%0d%0aSET%0d%0a$5%0d%0apwned%0d%0a$1%0d%0a1%0d%0a",
      "]];redis.call('FLUSHALL');--",
      "../../../../etc/passwd",
      "..%2f..%2fuser_login_age:100",
      "user_login_age:100",
      "session:*{100}[a-z]?",
      "';DROP/**/TABLE/**/payments;--",
      "$(reboot)`reboot`|reboot",
      "__proto__",
    ];
    for (const key of opaque) {
      expect([key, (await pay(shop, alice, key)).status]).toEqual([key, 201]);
      expect([key, (await pay(shop, alice, key)).json["replayed"]]).toEqual([key, true]);
    }
    for (const key of ["SET pwned 1", 'a"b', '"a";b=1', "SET\tpwned", "schl\u00fcssel"]) {
      expectPlainError(await pay(shop, alice, key), 400, "idempotency_key_invalid");
    }
    // Line ends and zeros cannot be part of a header: Node refuses the request, or they begin a header of their own.
    for (const line of ["a\rSET pwned 1", "a\nSET pwned 1", "a\r\n*1\r\n$8\r\nFLUSHALL", "a\0b", "a\r\n SET pwned 1"]) {
      const answer = await sendRaw(shop.base, attacked.rawPayment(`Idempotency-Key: ${line}`));
      expect([line, answer]).toEqual([line, expect.stringMatching(/^HTTP\/1\.1 400 /)]);
      expect(answer).not.toMatch(INTERNALS);
    }
    expect(await paymentsOf(alice)).toHaveLength(paid + opaque.length);
    // One record each, whose name tells nothing of the key, and all else is as it was.
    const added = (await attacked.keysOf("*")).filter((name) => !before.includes(name));
    expect(added).toHaveLength(opaque.length);
    for (const name of added) expect(name).toMatch(/^idempotency:[\w-]{43}$/);
    expect(await attacked.keysOf("*")).toEqual(expect.arrayContaining(before));
  });

  test("R-I7: injection through a number field: only JSON's own whole numbers are numbers", async () => {
    const values = ["1; DROP TABLE payments", "1250", "1e3", "0x10", "1_000", " 1", "", "NaN", "Infinity", "１２"];
    const others = ["[1]", "[]", "{}", '{"$gt":0}', '{"valueOf":1}', "true", "false", "1.5", "0.1", "1e-3", "0", "-0"];
    const texts = [...values.map((text) => JSON.stringify(text)), ...others];
    await attacked.expectRefused("amount", withMember("amount", texts));
    await attacked.expectRefused("quantity", withMember("quantity", texts));
    for (const body of [
      { ...PAYMENT, id: "1" },
      { ...PAYMENT, isPaid: true },
      '{"amount":1,"currency":"EUR","__proto__":{"amount":2}}',
      '{"amount":1,"currency":"EUR","constructor":{"prototype":{}}}',
    ]) {
      expectPlainError(await pay(shop, alice, randomUUID(), body), 422, "member_unknown");
    }
    await attacked.expectRefused("body", ["[]", `[${JSON.stringify(PAYMENT)}]`]);
    const currencies = ["eur", "XXX", "", "EUR; DROP", 978, null, ["EUR"], { $ne: "" }, true];
    await attacked.expectRefused(
      "currency",
      currencies.map((currency) => ({ amount: 1, currency })),
    );
    await attacked.expectRefused("currency", [{ amount: 1 }]);
  });

  test("R-I7: injection through a text field: it is stored and shown literally", async () => {
    const notes = [
      "'; DROP TABLE payments; --",
      '{"$where":"sleep(1000)"}',
      `\${7*7}{{7*7}}<%= 7*7 %>#{7*7}`,
      "]] redis.call('FLUSHALL') --",
      "*1\r\n$8\r\nFLUSHALL\r\n",
      "../../etc/passwd\0.png",
      "line\nline\u2028\u202eesrever\ufeff",
      "\ud83d\ude00 e\u0301 \u00e9",
      "__proto__",
    ];
    for (const note of notes) {
      const key = randomUUID();
      const first = await pay(shop, alice, key, { ...PAYMENT, note });
      expect([first.status, first.json["note"]]).toEqual([201, note]);
      expect((await pay(shop, alice, key, { ...PAYMENT, note })).json["note"]).toBe(note);
      expect((await paymentsOf(alice))[0]).toEqual(first.json);
    }
    const escaped = "&#39;; DROP TABLE payments; --";
    expect((await alice.get("/payments", { accept: "text/html" })).text).toContain(`<td class="typed">${escaped}</td>`);
    await attacked.expectRefused("note", [
      ...["x".repeat(201), 5, null, ["a"], { $gt: "" }, true].map((note) => ({ ...PAYMENT, note })),
    ]);
  });

  test("R-I7: ten replays: one payment, and each says that it is a replay", async () => {
    const before = await paymentsOf(alice);
    const key = randomUUID();
    const first = await pay(shop, alice, key);
    expect([first.status, first.headers.get("idempotency-replayed")]).toEqual([201, null]);
    for (let count = 0; count < 10; count += 1) {
      const again = await pay(count % 2 === 0 ? shop : twin, alice, key);
      expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
      expect(again.text).toBe(first.text.replace(/\}$/, ',"replayed":true}'));
      expect(again.headers.get("location")).toBe(`/payments/${first.json["id"]}`);
    }
    expect(await paymentsOf(alice)).toEqual([first.json, ...before]);
  });

  test("R-I7: a blank key: 400, however it is blank", async () => {
    const before = await paymentsOf(alice);
    for (const key of [undefined, "", " ", "\t", "   \t ", '""', '"  "']) {
      expectPlainError(await pay(shop, alice, key), 400, "idempotency_key_required");
    }
    for (const lines of ["Idempotency-Key:", "Idempotency-Key: \t "]) {
      const answer = await sendRaw(shop.base, attacked.rawPayment(lines));
      expect(answer).toMatch(/^HTTP\/1\.1 400 .*\{"error":"idempotency_key_required"\}$/s);
    }
    for (const lines of ["Idempotency-Key: a\r\nIdempotency-Key: a", 'Idempotency-Key: "', 'Idempotency-Key: "\\"']) {
      expect(await sendRaw(shop.base, attacked.rawPayment(lines))).toMatch(
        /^HTTP\/1\.1 400 .*idempotency_key_invalid/s,
      );
    }
    expect(await paymentsOf(alice)).toEqual(before);
  });

  test("R-I7: a key of many megabytes is refused, and the shop goes on", async () => {
    const before = await paymentsOf(alice);
    expect((await pay(shop, alice, "k".repeat(255))).status).toBe(201);
    for (const length of [256, 1_000, 8_000]) {
      expectPlainError(await pay(shop, alice, "k".repeat(length)), 400, "idempotency_key_too_long");
    }
    const attacks = [1, 4, 16].map((megabytes) =>
      sendRaw(shop.base, attacked.rawPayment(`Idempotency-Key: ${"k".repeat(megabytes * 1_048_576)}`)),
    );
    // Whoever still writes when the server hangs up may miss its answer.
    for (const answer of await Promise.all(attacks)) expect(answer).toMatch(/^(?:HTTP\/1\.1 431 |$)/);
    const longHead = attacked.rawPayment(`Idempotency-Key: ${"k".repeat(20_000)}`);
    expect(await sendRaw(shop.base, longHead)).toMatch(/^HTTP\/1\.1 431 /);
    expect(await paymentsOf(alice)).toHaveLength(before.length + 1);
    expect(shop.output()).not.toContain("kkkk");
  });

  test("R-I7: a negative quantity or amount is refused", async () => {
    const values = ["-1", "-1250", "-0.01", "-1e3", "-9007199254740993", "-1e308", '"-1"'];
    await attacked.expectRefused("amount", withMember("amount", values));
    await attacked.expectRefused("quantity", withMember("quantity", [...values, "0", "101"]));
  });

  test("R-I7: a script in a text field comes back as JSON text, and is escaped on the pages", async () => {
    const note = `</td></dd><script>alert("1")</script><img src=x onerror='alert(1)'>&amp;`;
    const escaped =
      "&lt;/td&gt;&lt;/dd&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&lt;img src=x onerror=&#39;alert(1)&#39;&gt;&amp;amp;";
    const key = "<script>alert(2)</script>";
    const first = await pay(shop, alice, key, { ...PAYMENT, note });
    const again = await pay(shop, alice, key, { ...PAYMENT, note });
    const path = `/payments/${first.json["id"]}`;
    for (const { headers, text } of [first, again, await alice.get(path), await alice.get("/payments")]) {
      expect(text).toContain(JSON.stringify(note));
      expect([headers.get("content-type"), headers.get("x-content-type-options")]).toEqual([
        "application/json; charset=utf-8",
        "nosniff",
      ]);
    }
    for (const address of [path, "/payments"]) {
      const { text, headers } = await alice.get(address, { accept: "text/html" });
      expect(text).toContain(escaped);
      expect(text).not.toMatch(/<script>|<img src=x/);
      expect(headers.get("content-security-policy")).toContain("script-src 'self'");
    }
    expect((await alice.get("/payments", { accept: "text/html" })).text).toContain("&lt;script&gt;alert(2)");
  });

  test("R-I7: concurrent duplicates: 20 at once over two processes are one payment", async () => {
    for (let round = 0; round < 5; round += 1) {
      const before = (await paymentsOf(alice)).length + (await paymentsOf(attacked.onTwin())).length;
      const key = randomUUID();
      const body = { ...PAYMENT, note: `round ${round}` };
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => pay(index % 2 === 0 ? shop : twin, alice, key, body)),
      );
      const [paid, ...more] = answers.filter(({ status, json }) => status === 201 && json["replayed"] !== true);
      expect([paid?.status, more]).toEqual([201, []]);
      for (const answer of answers.filter((one) => one !== paid)) {
        if (answer.status === 201) expect(answer.json).toEqual({ ...paid?.json, replayed: true });
        else {
          expectPlainError(answer, 409, "idempotency_in_progress");
          expect(answer.headers.get("retry-after")).toMatch(/^[1-5]$/);
        }
      }
      expect((await paymentsOf(alice)).length + (await paymentsOf(attacked.onTwin())).length).toBe(before + 1);
      for (const place of [shop, twin]) expect((await pay(place, alice, key, body)).json["replayed"]).toBe(true);
    }
  });

  test("R-I7: integer overflow in an amount is refused", async () => {
    const values = [
      ...["1000001", "2147483648", "4294967297", "9007199254740991", "9007199254740992", "9007199254740993"],
      ...["9223372036854775808", "18446744073709551617", "99999999999999999999", "1e308", "1e309", "1e400"],
      `1${"0".repeat(4_000)}`,
    ];
    await attacked.expectRefused("amount", withMember("amount", values));
    await attacked.expectRefused("quantity", withMember("quantity", values));
  });

  test("R-I7: a null or missing amount is refused", async () => {
    await attacked.expectRefused("amount", [
      ...withMember("amount", ["null"]),
      { currency: "EUR" },
      { currency: "EUR", quantity: 1 },
      {},
    ]);
    await attacked.expectRefused("quantity", withMember("quantity", ["null"]));
    for (const body of ["null", "0", '"text"', "true"]) {
      expectPlainError(await pay(shop, alice, randomUUID(), body), 400, "malformed");
    }
  });

  test("R-I7: no error shows a stack trace, a path or a query", async () => {
    const key = randomUUID();
    const before = await paymentsOf(alice);
    const json = async (method: string, path: string, headers: Record<string, string> = {}): Promise<Answer> => {
      const page = await alice.send(method, path, undefined, headers);
      return { ...page, json: page.json() };
    };
    for (const body of ['{"amount":', "{amount:1}", "\0", "{}{}", "{'a':1}", `${"[".repeat(4_000)}`]) {
      expectPlainError(await pay(shop, alice, key, body), 400, "malformed");
    }
    expectPlainError(await pay(shop, alice, key, { ...PAYMENT, note: "x".repeat(9_000) }), 413, "too_large");
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "", "text/html; a=b"]) {
      const answer = await pay(shop, alice, key, PAYMENT, { "content-type": type });
      expectPlainError(answer, 415, "unsupported_media_type");
    }
    const odd = { "content-type": "application/json; charset=klingon" };
    expectPlainError(await pay(shop, alice, key, PAYMENT, odd), 415, "unsupported_media_type");
    expectPlainError(await pay(shop, alice, key, PAYMENT, { "content-encoding": "br2" }), 415);
    expectPlainError(await pay(shop, alice, key, PAYMENT, { "content-encoding": "gzip" }), 400);
    expectPlainError(await json("GET", "/payments/..%2f..%2fetc%2fpasswd"), 404, "not_found");
    expectPlainError(await json("GET", "/payments/%E0%A4%A"), 400, "malformed");
    expectPlainError(await json("GET", `/payments/${"a".repeat(4_000)}`), 404, "not_found");
    for (const method of ["PUT", "PATCH", "DELETE"]) {
      const answer = await json(method, "/payments");
      expectPlainError(answer, 405, "method_not_allowed");
      expect(answer.headers.get("allow")).toBe("GET, HEAD, POST");
    }
    expectPlainError(await pay(shop, shop.browser(), key), 401, "login_required");
    const foreign = { "sec-fetch-site": "cross-site" };
    expectPlainError(await pay(shop, alice, key, PAYMENT, foreign), 403, "refused");
    // Pages' errors, too.
    for (const path of ["/payments/1", "/payments/%E0%A4%A"]) {
      const page = await alice.get(path, { accept: "text/html" });
      expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(page.text).not.toMatch(/ERR_|SyntaxError|URIError|node_modules|at \w+ \(/);
    }
    expect(await paymentsOf(alice)).toEqual(before);
    for (const secret of [key, cookieOf(alice).slice(10, 40)]) expect(shop.output()).not.toContain(secret);
  });

  test("R-I7: no error shows internals while Redis is away, at the claim or before it", async () => {
    const { shop: lonely, proxy, redis } = await shopBehindProxy();
    const bob = await lonely.signedIn("bob");
    const key = randomUUID();
    const stuck = proxy.hold((words) => words.some((word) => word.startsWith("idempotency:")));
    const [atClaim] = await Promise.all([pay(lonely, bob, key), stuck]);
    for (const answer of [atClaim, await pay(lonely, bob, key)]) {
      expectPlainError(answer, 503, "try_again");
      expect(answer.headers.get("retry-after")).toBe("5");
    }
    // The claim stands, with nobody behind it, and is taken back as soon as Redis can be told.
    expect(await redis.keys("idempotency:*")).toHaveLength(1);
    proxy.release();
    await expect.poll(() => redis.keys("idempotency:*"), { timeout: 5_000 }).toEqual([]);
    const again = await pay(lonely, bob, key);
    expect([again.status, again.json["replayed"]]).toEqual([201, undefined]);
    expect(await paymentsOf(bob)).toHaveLength(1);
    expect(lonely.output()).toContain("POST /payments: ERR_REDIS_TIMEOUT");
    expect(lonely.output()).not.toContain(key);
  });
});
