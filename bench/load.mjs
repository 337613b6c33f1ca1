// @ts-check
/**
 * Load from a process of its own: `node bench/load.mjs <port> <connections> <duration ms> <sessions>`, over keep-alive
 * connections. Prints JSON: requests, seconds, p50 and p99 in milliseconds. Any answer but 200 fails the run.
 */
import { sign } from "cookie-signature";
import { drive, percentiles } from "./drive.mjs";

const [port = 0, connections = 1, durationMs = 1_000, sessions = 1] = process.argv.slice(2).map(Number);
const requests = Array.from({ length: sessions }, (_, n) => {
  const cookie = encodeURIComponent(`s:${sign(`s${n}`, "benchmark")}`);
  return `GET / HTTP/1.1\r\nHost: localhost\r\nCookie: connect.sid=${cookie}\r\n\r\n`;
});
/** @type {number[]} */
const timesMs = [];
let sent = 0;
const startMs = performance.now();
const endMs = startMs + durationMs;
await Promise.all(Array.from({ length: connections }, (_, n) => drive(port, 200, () => next(n))));
const seconds = (performance.now() - startMs) / 1_000;
console.log(JSON.stringify({ requests: timesMs.length, seconds, ...percentiles(timesMs) }));

/** @param {number} offset */
function next(offset) {
  if (performance.now() >= endMs) return undefined;
  sent += 1;
  const request = requests[(sent * 37 + offset) % sessions] ?? "";
  return { request, answered: (/** @type {string} */ _body, /** @type {number} */ ms) => timesMs.push(ms) };
}
