import { createHmac } from "node:crypto";
import fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import { submitTokens } from "../../src/index.js";
import { SigningKeys } from "../../src/submit-token/signing-keys.js";
import { TokenCodec } from "../../src/submit-token/token-codec.js";
import { freshClient } from "../support/clients.js";
import { submit, TOKEN_SECRET, tokenApp, tokenFor } from "../support/token-app.js";

const OLD = "the secret of last year, which is long enough: 9876543210";

afterEach(() => vi.unstubAllEnvs());

test("R-T8: secrets rotate: the first signs, all verify, and a dropped one is no good", async () => {
  const old = await tokenApp({ tokens: { secret: OLD } });
  const device = old.browser();
  const [first, second] = [await tokenFor(device), await tokenFor(device)];
  const sharing = async (secret: string | string[]) => {
    const app = await tokenApp({ store: { client: old.client }, tokens: { secret } });
    const browser = app.browser();
    for (const [name, value] of device.cookies) browser.cookies.set(name, value);
    return browser;
  };
  expect((await submit(await sharing([TOKEN_SECRET, OLD]), first)).status).toBe(200);
  const only = await sharing(TOKEN_SECRET);
  expect((await submit(only, second)).text).toBe('{"error":"submit_token_invalid"}');
  const rotated = await sharing([TOKEN_SECRET, OLD]);
  expect((await submit(only, await tokenFor(rotated))).status).toBe(200);
});

test("R-T8: the key is derived for this purpose: the secret itself signs no token", () => {
  const codec = new TokenCodec(new SigningKeys([TOKEN_SECRET]));
  const token = codec.make("binding", 600_000);
  const [version = "", issued = "", life = "", random = ""] = token.split(".");
  const signed = [version, issued, life, random, "binding"].map((part) => `${part.length}:${part}`).join("");
  const mac = createHmac("sha256", TOKEN_SECRET).update(signed).digest("base64url");
  expect(codec.check(token, "binding")).toBe("good");
  expect(codec.check([version, issued, life, random, mac].join("."), "binding")).toBe("invalid");
});

test("R-T8: in production a missing or weak secret ends the start, and is not shown", async () => {
  const client = await freshClient();
  vi.stubEnv("NODE_ENV", "production");
  for (const secret of [undefined, [], "hush", "a".repeat(64), [TOKEN_SECRET, "hush"]]) {
    const start = (): unknown => submitTokens({ client, secret });
    expect(start).toThrow(expect.objectContaining({ name: "TypeError", code: "ERR_INVALID_ARG_VALUE" }));
    expect(start).toThrow(/^submitTokens: secret: (?!.*hush)/);
  }
  submitTokens({ client, secret: [TOKEN_SECRET, Buffer.from(OLD)] });
});

test("R-T8: the signature ends two seconds before the token does in Redis", async () => {
  const { browser, client } = await tokenApp({ issue: { ttlMs: 20_000 } });
  const device = browser();
  const token = await tokenFor(device);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 18_001 });
  const page = await submit(device, token).finally(() => vi.useRealTimers());
  expect(page.text).toBe('{"error":"submit_token_expired"}');
  expect(await client.exists(`submit:token:${token}`)).toBe(1);
});

test("R-T8: no change of a token's text passes, and no text makes the check throw", () => {
  const codec = new TokenCodec(new SigningKeys([TOKEN_SECRET]));
  const token = codec.make("binding", 600_000);
  const numRuns = process.env["THOROUGH"] === "1" ? 20_000 : 2_000;
  const place = fc.nat(token.length);
  const changed = fc
    .tuple(place, fc.string({ maxLength: 2 }), fc.nat(2))
    .map(([at, text, cut]) => token.slice(0, at) + text + token.slice(at + cut))
    .filter((text) => text !== token);
  fc.assert(
    fc.property(fc.oneof(changed, fc.string({ unit: "binary", maxLength: 300 })), (text) => {
      expect(codec.check(text, "binding")).toBe("invalid");
    }),
    { numRuns },
  );
});
