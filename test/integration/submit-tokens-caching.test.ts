import type { Request, Response } from "express";
import onHeaders from "on-headers";
import { expect, test } from "vitest";
import type { SubmitTokens } from "../../src/index.js";
import { tokenApp } from "../support/token-app.js";

/** A page and all that a browser or a cache would go by. */
async function cachingOf(answer: (req: Request, res: Response, tokens: SubmitTokens) => unknown): Promise<unknown[]> {
  const { browser } = await tokenApp({
    before: (app, tokens) => {
      app.get("/page", async (req, res) => {
        res.set("Cache-Control", "public, max-age=600");
        await answer(req, res, tokens);
      });
    },
  });
  const { status, headers } = await browser().get("/page", { "if-none-match": "*" });
  return [status, headers.get("cache-control"), headers.get("vary"), headers.get("etag")];
}

const KEPT_FROM_CACHES = [200, "private, no-store", "Cookie", null];

test("C47: a page with several forms, each with a token of its own, is kept from caches as one with a single form is", async () => {
  for (const forms of [1, 2, 3]) {
    const caching = await cachingOf(async (req, res, tokens) => {
      const issued: string[] = [];
      for (let form = 0; form < forms; form += 1) issued.push(await tokens.issue(req, { action: `form-${form}` }));
      res.send(issued.map((token) => tokens.field(token)).join(""));
    });
    expect([forms, caching]).toEqual([forms, KEPT_FROM_CACHES]);
  }
});

test("C47: tokens for one page issued at the same time, too", async () => {
  const caching = await cachingOf(async (req, res, tokens) => {
    res.send((await Promise.all([tokens.issue(req), tokens.issue(req), tokens.issue(req)])).join());
  });
  expect(caching).toEqual(KEPT_FROM_CACHES);
});

const WAYS: Record<string, (res: Response) => unknown> = {
  "writeHead with a flat list": (res) => res.writeHead(200, ["Cache-Control", "public", "ETag", '"a"']).end("x"),
  "writeHead with an object": (res) => res.writeHead(200, { "cache-control": "public" }).end("x"),
  "flushHeaders before the body": (res) => {
    res.set("Cache-Control", "public").flushHeaders();
    res.end("x");
  },
  appendHeader: (res) => res.appendHeader("Cache-Control", "public").send("x"),
  "a header removed": (res) => {
    res.removeHeader("Cache-Control");
    res.write("x");
    res.end();
  },
};

test.each(Object.entries(WAYS))("C47: %s does not get a page with a token into a cache", async (_name, way) => {
  const caching = await cachingOf(async (req, res, tokens) => {
    await tokens.issue(req);
    way(res);
  });
  expect(caching).toEqual(KEPT_FROM_CACHES);
});

test.each([
  ["sets", (res: Response) => res.setHeader("Cache-Control", "public")],
  ["appends", (res: Response) => res.appendHeader("Cache-Control", "public")],
  ["removes", (res: Response) => res.removeHeader("Cache-Control")],
] as const)("C47: a middleware that %s the header at the last moment comes too late", async (_name, change) => {
  const { browser } = await tokenApp({
    before: (app) => {
      app.use((_req, res, next) => {
        onHeaders(res, () => void change(res));
        next();
      });
    },
  });
  expect((await browser().get("/token")).headers.get("cache-control")).toBe("private, no-store");
});
