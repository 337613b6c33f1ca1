import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { beforeEnd } from "../../src/http/before-end.js";
import { Gate } from "../support/gate.js";
import { begin } from "../support/raw-request.js";
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

test("what cannot be sent as it is throws at once and ends nothing: another answer can be given", async () => {
  const wrong: readonly ((res: ServerResponse) => void)[] = [
    (res) => {
      res.statusCode = 99;
      res.end("x");
    },
    (res) => {
      const { writeHead } = res;
      res.writeHead = () => {
        res.writeHead = writeHead;
        throw new RangeError("a listener to headers");
      };
      res.end("x");
    },
  ];
  const unknownEncoding = (res: ServerResponse) => res.end("x", "no encoding" as never);
  for (const isNeeded of [true, false]) {
    // Node itself sends the headers before it looks at the encoding.
    for (const act of isNeeded ? [...wrong, unknownEncoding] : wrong) {
      const base = await answering((res) => {
        beforeEnd(res, { ...NEEDED, isNeeded: () => isNeeded });
        expect(() => act(res)).toThrow(Error);
        res.statusCode = 500;
        res.end("failed");
      });
      const response = await fetch(base);
      expect([response.status, await response.text()]).toEqual([500, "failed"]);
    }
  }
});

test("a response with trailers is sent with them", async () => {
  const base = await answering((res) => {
    beforeEnd(res, NEEDED);
    res.setHeader("Trailer", "X-Sum");
    res.addTrailers({ "X-Sum": "7" });
    res.end("one");
  });
  const sent = begin(base, {});
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  expect([await text(response), response.trailers]).toEqual(["one", { "x-sum": "7" }]);
});

test("what is written after the end stays out of the answer, and out of the next one on the connection", async () => {
  const gate = new Gate();
  const base = await answering((res) => {
    beforeEnd(res, { isNeeded: () => true, run: () => gate.pass() });
    res.end("one");
    expect(res.write("HTTP/1.1 200 OK")).toBe(false);
    gate.open();
  });
  for (let request = 0; request < 2; request += 1) {
    const response = await fetch(base);
    expect([response.headers.get("content-length"), await response.text()]).toEqual(["3", "one"]);
  }
});
