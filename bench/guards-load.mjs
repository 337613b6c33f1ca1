// @ts-check
/**
 * Load from a process of its own: is sent `{ port, connections, requests, status }` over IPC, sends each request once over keep-alive
 * connections and answers `{ seconds, p50, p99, bodies }`. An answer with another status fails the run.
 */
import { createConnection } from "node:net";

process.once("message", async (/** @type {any} */ { port, connections, requests, status }) => {
  /** @type {number[]} */
  const timesMs = [];
  /** @type {string[]} */
  const bodies = new Array(requests.length);
  let sent = 0;
  const startMs = performance.now();
  await Promise.all(Array.from({ length: connections }, drive));
  const seconds = (performance.now() - startMs) / 1_000;
  timesMs.sort((a, b) => a - b);
  process.send?.(
    {
      seconds,
      p50: timesMs[timesMs.length >> 1],
      p99: timesMs[Math.floor(timesMs.length * 0.99)],
      bodies,
    },
    () => process.disconnect(),
  );

  function drive() {
    return new Promise((resolve, reject) => {
      const socket = createConnection(port, "127.0.0.1");
      socket.setNoDelay();
      let answer = "";
      let sentAtMs = 0;
      let index = 0;
      const next = () => {
        if (sent === requests.length) {
          socket.destroy();
          resolve(undefined);
          return;
        }
        index = sent;
        sent += 1;
        sentAtMs = performance.now();
        socket.write(requests[index]);
      };
      socket.on("connect", next);
      socket.on("error", reject);
      socket.on("data", (chunk) => {
        answer += chunk.toString("latin1");
        const headEnd = answer.indexOf("\r\n\r\n");
        if (headEnd < 0) return;
        const length = Number(/content-length: (\d+)/i.exec(answer)?.[1]);
        if (answer.length < headEnd + 4 + length) return;
        if (!answer.startsWith(`HTTP/1.1 ${status}`)) {
          reject(new Error(`an answer was no ${status}: ${answer}`));
          return;
        }
        bodies[index] = answer.slice(headEnd + 4);
        answer = "";
        timesMs.push(performance.now() - sentAtMs);
        next();
      });
    });
  }
});
