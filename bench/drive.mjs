// @ts-check
/** One keep-alive connection that sends one request after the other. */
import { createConnection } from "node:net";

/**
 * Sends what `next` gives until it gives nothing, and tells `answered` each body and how long it took. An answer with another status
 * fails the run.
 *
 * @param {number} port
 * @param {number} status
 * @param {() => { request: string, answered: (body: string, ms: number) => void } | undefined} next
 * @returns {Promise<void>}
 */
export function drive(port, status, next) {
  return new Promise((resolve, reject) => {
    const socket = createConnection(port, "127.0.0.1");
    socket.setNoDelay();
    let answer = "";
    let sentAtMs = 0;
    /** @type {ReturnType<typeof next>} */
    let current;
    const send = () => {
      current = next();
      if (current === undefined) {
        socket.destroy();
        resolve();
        return;
      }
      sentAtMs = performance.now();
      socket.write(current.request);
    };
    socket.on("connect", send);
    socket.on("error", reject);
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
      const headEnd = answer.indexOf("\r\n\r\n");
      if (headEnd < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(answer)?.[1]);
      if (answer.length < headEnd + 4 + length) return;
      if (!answer.startsWith(`HTTP/1.1 ${status}`)) {
        reject(new Error(`an answer was no ${status}: ${answer.slice(0, 300)}`));
        return;
      }
      const body = answer.slice(headEnd + 4);
      answer = "";
      current?.answered(body, performance.now() - sentAtMs);
      send();
    });
  });
}

/** @param {number[]} timesMs */
export function percentiles(timesMs) {
  timesMs.sort((a, b) => a - b);
  const at = (/** @type {number} */ share) => timesMs[Math.min(timesMs.length - 1, Math.floor(timesMs.length * share))];
  return { p50: at(0.5), p99: at(0.99) };
}
