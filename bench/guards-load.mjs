// @ts-check
/**
 * Load from a process of its own: is sent `{ port, connections, requests, status }` over IPC, sends each request once over keep-alive
 * connections and answers `{ seconds, p50, p99, bodies }`. An answer with another status fails the run.
 */
import { drive, percentiles } from "./drive.mjs";

process.once("message", async (/** @type {any} */ { port, connections, requests, status }) => {
  /** @type {number[]} */
  const timesMs = [];
  /** @type {string[]} */
  const bodies = new Array(requests.length);
  let sent = 0;
  const next = () => {
    if (sent === requests.length) return undefined;
    const index = sent;
    sent += 1;
    const answered = (/** @type {string} */ body, /** @type {number} */ ms) => {
      bodies[index] = body;
      timesMs.push(ms);
    };
    return { request: requests[index], answered };
  };
  const startMs = performance.now();
  await Promise.all(Array.from({ length: connections }, () => drive(port, status, next)));
  const seconds = (performance.now() - startMs) / 1_000;
  process.send?.({ seconds, ...percentiles(timesMs), bodies }, () => process.disconnect());
});
