// @ts-check
/**
 * Load from a process of its own: `node bench/load.mjs <port> <connections> <duration ms> <sessions>`, over keep-alive
 * connections. Prints JSON: requests, seconds, p50 and p99 in milliseconds. Any answer but 200 fails the run.
 */
import { createConnection } from "node:net";
import { sign } from "cookie-signature";

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
await Promise.all(Array.from({ length: connections }, (_, n) => drive(n)));
timesMs.sort((a, b) => a - b);
const at = (/** @type {number} */ share) => timesMs[Math.min(timesMs.length - 1, Math.floor(timesMs.length * share))];
const seconds = (performance.now() - startMs) / 1_000;
console.log(JSON.stringify({ requests: timesMs.length, seconds, p50: at(0.5), p99: at(0.99) }));

/** @param {number} offset */
function drive(offset) {
  return new Promise((resolve, reject) => {
    const socket = createConnection(port, "127.0.0.1");
    socket.setNoDelay();
    let answer = "";
    let sentAtMs = 0;
    const next = () => {
      if (performance.now() >= endMs) {
        socket.destroy();
        resolve(undefined);
        return;
      }
      sent += 1;
      sentAtMs = performance.now();
      socket.write(requests[(sent * 37 + offset) % sessions] ?? "");
    };
    socket.on("connect", next);
    socket.on("error", reject);
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
      const headEnd = answer.indexOf("\r\n\r\n");
      if (headEnd < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(answer)?.[1]);
      if (answer.length < headEnd + 4 + length) return;
      if (!answer.startsWith("HTTP/1.1 200")) {
        reject(new Error(`an answer was no 200: ${answer.slice(0, 60)}`));
        return;
      }
      answer = "";
      timesMs.push(performance.now() - sentAtMs);
      next();
    });
  });
}
