import { readFileSync } from "node:fs";
import { runInNewContext, Script } from "node:vm";
import { describe, expect, test } from "vitest";
import { browserScriptModule } from "../../scripts/browser-script.mjs";
import { type ScriptOptions, submitTokens } from "../../src/index.js";
import { Browser } from "../support/browser.js";
import { freshClient } from "../support/clients.js";
import { serve } from "../support/serve.js";
import { TOKEN_SECRET } from "../support/token-app.js";

const MAX_BYTES = 10_000;

async function scriptAt(options?: ScriptOptions): Promise<Browser> {
  const tokens = submitTokens({ client: await freshClient(), secret: TOKEN_SECRET, fieldName: "one_time" });
  const handler = options === undefined ? tokens.script() : tokens.script(options);
  return new Browser(await serve((req, res) => handler(req, res, () => undefined)));
}

/** What the script is called with. */
async function servedBy(options?: ScriptOptions): Promise<unknown> {
  const { text } = await (await scriptAt(options)).get("/");
  const call = text.lastIndexOf("JSON.parse(");
  return JSON.parse(JSON.stringify(runInNewContext(text.slice(call, text.lastIndexOf(")")))));
}

test("R-T3: the stored script is the one that src/browser compiles to", () => {
  const stored = readFileSync(new URL("../../src/submit-token/browser-script.ts", import.meta.url), "utf8");
  expect(stored, "run `node scripts/browser-script.mjs`").toBe(browserScriptModule());
}, 60_000);

describe("R-T3: tokens.script", () => {
  test("serves a classic script of less than 10 KB", async () => {
    const page = await (await scriptAt()).get("/");
    expect(page.status).toBe(200);
    expect(page.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(page.headers.get("x-content-type-options")).toBe("nosniff");
    expect(page.headers.get("cache-control")).toBe("public, no-cache");
    expect(Buffer.byteLength(page.text)).toBeLessThan(MAX_BYTES);
    // Throws for what only a module may contain.
    expect(() => new Script(page.text)).not.toThrow();
    expect(page.text).not.toMatch(/\beval\b|new Function|innerHTML|SERVED/);
  });

  test("HEAD has the headers alone, and what the browser has is not sent again", async () => {
    const browser = await scriptAt();
    const page = await browser.get("/");
    const head = await browser.send("HEAD", "/");
    expect([head.status, head.text, head.headers.get("content-length")]).toEqual([
      200,
      "",
      String(Buffer.byteLength(page.text)),
    ]);
    const etag = page.headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[\w-]{43}"$/);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const again = await browser.get("/", { "if-none-match": known });
      expect([again.status, again.text, again.headers.get("etag")]).toEqual([304, "", etag]);
    }
    expect((await browser.get("/", { "if-none-match": '"other"' })).status).toBe(200);
  });

  test("another configuration is another version", async () => {
    const tags = [{}, { endpoint: "/t" }, { texts: { de: { result: "Da" } } }].map(async (options) =>
      (await (await scriptAt(options)).get("/")).headers.get("etag"),
    );
    expect(new Set(await Promise.all(tags)).size).toBe(3);
  });

  test("other methods are refused", async () => {
    const page = await (await scriptAt()).post("/");
    expect([page.status, page.headers.get("allow"), page.text]).toEqual([
      405,
      "GET, HEAD",
      '{"error":"method_not_allowed"}',
    ]);
  });

  test("the script is told the names in use, the endpoint and the texts", async () => {
    expect(await servedBy()).toEqual({
      endpoint: "/submit-token",
      fieldName: "one_time",
      headerName: "X-Submit-Token",
      texts: {},
    });
    const texts = { "de-AT": { duplicate: "Schon da.", result: undefined }, en: { result: "Go" } };
    expect(await servedBy({ endpoint: "/api/token?x=1", texts })).toMatchObject({
      endpoint: "/api/token?x=1",
      texts: { "de-at": { duplicate: "Schon da." }, en: { result: "Go" } },
    });
  });

  test("texts of any content stay texts", async () => {
    const duplicate = `</script><script>"'\`\${alert(1)}$&$'\\ \u2028 \u2029 é`;
    const options = { texts: { en: { duplicate } } };
    expect(await servedBy(options)).toMatchObject(options);
    const { text } = await (await scriptAt(options)).get("/");
    expect(text).not.toMatch(/<\/script|\u2028|\u2029/i);
  });

  test.each([
    [{ endpoint: "//evil.example" }, "ERR_INVALID_ARG_VALUE", /endpoint: expected a path/],
    [{ endpoint: "https://evil.example/" }, "ERR_INVALID_ARG_VALUE", /endpoint: expected a path/],
    [{ endpoint: "" }, "ERR_INVALID_ARG_TYPE", /endpoint: expected a non-empty string/],
    [{ texts: [] }, "ERR_INVALID_ARG_TYPE", /texts: expected an object by language/],
    [{ texts: { __proto__x: {} } }, "ERR_INVALID_ARG_VALUE", /texts: expected language tags/],
    [{ texts: { de: "Hallo" } }, "ERR_INVALID_ARG_TYPE", /texts: de: expected an options object/],
    [{ texts: { de: { dupe: "Hallo" } } }, "ERR_INVALID_ARG_VALUE", /texts: de: unknown option "dupe"/],
    [{ texts: { de: { duplicate: "" } } }, "ERR_INVALID_ARG_TYPE", /texts: de: duplicate: expected a non-empty string/],
    [{ langs: {} }, "ERR_INVALID_ARG_VALUE", /unknown option "langs"/],
  ])("misuse is a TypeError at once: %o", async (options, code, message) => {
    const tokens = submitTokens({ client: await freshClient(), secret: TOKEN_SECRET });
    const call = (): unknown => tokens.script(options as ScriptOptions);
    expect(call).toThrow(TypeError);
    expect(call).toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) }));
  });
});
