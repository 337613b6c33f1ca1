import methodOverride from "method-override";
import multer from "multer";
import { expect, test } from "vitest";
import { submitTokens } from "../../src/index.js";
import type { Browser } from "../support/browser.js";
import { freshClient } from "../support/clients.js";
import { Gate } from "../support/gate.js";
import { DUPLICATE, submit, TOKEN_SECRET, tokenApp, tokenFor } from "../support/token-app.js";

test("C42: the loser of a double click is led to the result once the winner has told it", async () => {
  const gate = new Gate();
  const { browser, runs } = await tokenApp({
    protect: { waitForResultMs: 5_000 },
    handler: async (req, res) => {
      await gate.pass();
      expect(await req.submitToken?.commit({ location: "/orders/7" })).toBe(true);
      res.redirect(303, "/orders/7");
    },
  });
  const device = browser();
  const token = await tokenFor(device);
  const winner = submit(device, token);
  await gate.arrived;
  const loser = submit(device, token, { accept: "text/html" });
  gate.open();
  expect((await winner).status).toBe(303);
  const page = await loser;
  expect([page.status, page.headers.get("link")]).toEqual([409, '</orders/7>; rel="describedby"']);
  expect(page.text).toContain('<a href="/orders/7">');
  expect(runs()).toBe(1);
});

test("C43: release() works once, only for the request that spent, and never undoes a later spend", async () => {
  const answers: (boolean | undefined)[] = [];
  const gates = [new Gate(), new Gate()];
  const { browser } = await tokenApp({
    handler: async (req, res) => {
      const gate = gates.shift();
      answers.push(await req.submitToken?.release());
      await gate?.pass();
      answers.push(await req.submitToken?.release());
      res.json({});
    },
  });
  const device = browser();
  const [first, second] = gates;
  const token = await tokenFor(device);
  const one = submit(device, token);
  await first?.arrived;
  const two = submit(device, token);
  await second?.arrived;
  first?.open();
  second?.open();
  expect([(await one).status, (await two).status]).toEqual([200, 200]);
  expect(answers).toEqual([true, true, false, false]);
});

test("C44: three tabs work in any order, and a page that is sent again is told so", async () => {
  const { browser, runs } = await tokenApp();
  const device = browser();
  const [one, two, three] = [await tokenFor(device), await tokenFor(device), await tokenFor(device)];
  for (const token of [two, one, three]) expect((await submit(device, token)).status).toBe(200);
  expect((await submit(device, two)).text).toBe(DUPLICATE);
  expect(runs()).toBe(3);
});

test("C45: multipart: behind the parser it passes, before it is refused and not spent, and the connection goes on", async () => {
  const upload = multer({ storage: multer.memoryStorage() });
  const { base, browser } = await tokenApp({
    before: (app, tokens) => {
      app.post(
        "/parsed",
        upload.single("file"),
        tokens.protect(),
        (req, res) => void res.json({ size: req.file?.size }),
      );
      app.post(
        "/unparsed",
        tokens.protect(),
        upload.single("file"),
        (req, res) => void res.json({ size: req.file?.size }),
      );
    },
  });
  const device = browser();
  const send = async (path: string, token: string, headers: Record<string, string> = {}): Promise<string> => {
    const body = new FormData();
    body.append("file", new Blob([Buffer.alloc(5_000_000)]), "large.bin");
    body.append("_submit_token", token);
    const cookie = `connect.sid=${device.cookies.get("connect.sid")}`;
    const response = await fetch(`${base}${path}`, { method: "POST", body, headers: { cookie, ...headers } });
    return `${response.status} ${await response.text()}`;
  };
  const token = await tokenFor(device);
  expect(await send("/unparsed", token)).toBe('403 {"error":"submit_token_missing"}');
  expect(await send("/parsed", token)).toBe('200 {"size":5000000}');
  const another = await tokenFor(device);
  expect(await send("/unparsed", another, { "X-Submit-Token": another })).toBe('200 {"size":5000000}');
});

test("C46: tokens fetched in parallel all work", async () => {
  const { browser, runs } = await tokenApp({ before: (app, tokens) => void app.get("/fetch", tokens.endpoint()) });
  const device: Browser = browser();
  await device.get("/fetch");
  const pages = await Promise.all(Array.from({ length: 5 }, () => device.get("/fetch")));
  for (const page of pages) expect(page.headers.get("cache-control")).toBe("private, no-store");
  const tokens = pages.map((page) => page.json<{ token: string; headerName: string }>());
  const posts = tokens.map(({ token, headerName }) => device.post("/submit", {}, { [headerName]: token }));
  expect((await Promise.all(posts)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  expect(runs()).toBe(5);
  expect((await device.get("/fetch", { "sec-fetch-site": "cross-site" })).status).toBe(403);
});

test("R-T7: another site's page is refused and spends nothing, an allowed origin's passes; overrides do not help", async () => {
  const { browser } = await tokenApp({
    tokens: { allowedOrigins: ["https://www.example.org"] },
    before: (app, tokens) => {
      app.use(methodOverride("X-HTTP-Method-Override"), methodOverride("_method"));
      app.all("/all", tokens.protect(), (_req, res) => void res.json({}));
    },
  });
  const device = browser();
  const token = await tokenFor(device);
  const elsewhere = { "sec-fetch-site": "cross-site", origin: "https://evil.example" };
  expect((await submit(device, token, elsewhere)).text).toBe('{"error":"cross_site"}');
  expect((await device.post("/all", {}, { "X-HTTP-Method-Override": "GET" })).status).toBe(403);
  expect((await device.post("/all?_method=HEAD")).status).toBe(403);
  for (const method of ["GET", "HEAD", "OPTIONS"]) expect((await device.send(method, "/all")).status).toBe(200);
  expect((await submit(device, token, { ...elsewhere, origin: "https://www.example.org" })).status).toBe(200);
});

test("misuse is a TypeError that names what was expected", async () => {
  const client = await freshClient();
  const tokens = submitTokens({ client, secret: TOKEN_SECRET });
  for (const [misused, text] of [
    [() => submitTokens({ client, secret: TOKEN_SECRET, ttlMs: 0 }), "ttlMs: expected an integer"],
    [() => submitTokens({ client, secret: TOKEN_SECRET, allowedOrigins: ["https://a/b"] }), "expected origins"],
    [() => submitTokens({ client, secret: TOKEN_SECRET, livePrefix: "submit:" }), "overlap"],
    [() => tokens.protect({ duplicateStatus: 400 as never }), "expected 409 or 422"],
    [() => tokens.protect({ action: "" }), "action: expected a non-empty string"],
    [() => tokens.endpoint({ action: [] }), "expected a name or a list"],
    [() => tokens.field('"><script>'), "expected a token"],
  ] as const) {
    expect(misused).toThrow(TypeError);
    expect(misused).toThrow(text);
  }
});
