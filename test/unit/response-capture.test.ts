import { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { ResponseCapture } from "../../src/http/response-capture.js";

const CHUNK = Buffer.alloc(65_536, "x");

/** A response whose pieces go nowhere. */
function response(): ServerResponse {
  const res = new ServerResponse({ method: "POST", headers: {}, httpVersionMajor: 1, httpVersionMinor: 1 } as never);
  res.write = () => true;
  return res;
}

test("C55: of a body that is too large nothing is kept: 50 MB take no memory", () => {
  const res = response();
  const capture = new ResponseCapture(res, 262_144);
  const before = process.memoryUsage().arrayBuffers;
  for (let written = 0; written < 50_000_000; written += CHUNK.byteLength) res.write(CHUNK);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2_000_000);
  expect(capture.body(undefined)).toBeUndefined();
});

test("C55: what is kept is a copy: the handler may use its buffer again", () => {
  const res = response();
  const capture = new ResponseCapture(res, 100);
  const buffer = Buffer.from("one");
  res.write(buffer);
  buffer.write("two");
  res.write(buffer);
  buffer.write("end");
  expect(capture.body(buffer)?.toString()).toBe("onetwoend");
});
