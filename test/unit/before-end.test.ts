import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { beforeEnd } from "../../src/http/before-end.js";
import { Gate } from "../support/gate.js";
import { serve } from "../support/serve.js";

const NEEDED = { isNeeded: () => true, run: async () => undefined };

function answering(act: (res: ServerResponse) => void): Promise<string> {
  return serve((_req, res) => act(res));
}

test("the end leaves only after the step, with its headers settled", async () => {
  const gate = new Gate();
  let isSent = false;
  const base = await answering((res) => {
    beforeEnd(res, { isNeeded: () => true, run: () => gate.pass() });
    res.statusCode = 422;
    res.end("näh");
    res.statusCode = 200;
    res.end("twice");
    expect(res.headersSent).toBe(true);
  });
  const answer = fetch(base).then((response) => {
    isSent = true;
    return response;
  });
  await gate.arrived;
  expect(isSent).toBe(false);
  gate.open();
  const response = await answer;
  expect([response.status, response.headers.get("content-length"), await response.text()]).toEqual([422, "4", "näh"]);
});

test("a streamed response ends after the step; one that fails changes nothing", async () => {
  const base = await answering((res) => {
    beforeEnd(res, { isNeeded: () => true, run: () => Promise.reject(new Error("no")) });
    res.write("one ");
    res.end("two");
  });
  expect(await (await fetch(base)).text()).toBe("one two");
});

test("a chunk that is none throws at once, as without the delay, and the response can still be ended", async () => {
  const base = await answering((res) => {
    beforeEnd(res, NEEDED);
    expect(() => res.end(7)).toThrow(TypeError);
    res.end("ok");
  });
  expect(await (await fetch(base)).text()).toBe("ok");
});
