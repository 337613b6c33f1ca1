// @ts-check
/** A cluster of three primaries for one benchmark run. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";

const PRIMARIES = 3;
const SLOTS = 16_384;

export async function startCluster() {
  const nodes = await Promise.all(Array.from({ length: PRIMARIES }, startNode));
  const [first] = nodes;
  for (const [n, { root, busPort, port }] of nodes.entries()) {
    const [from, to] = [n, n + 1].map((part) => Math.floor((part * SLOTS) / PRIMARIES));
    await root.call("CLUSTER", "SET-CONFIG-EPOCH", String(n + 1));
    await root.call("CLUSTER", "ADDSLOTSRANGE", String(from), String(to - 1));
    if (n > 0) await first.root.call("CLUSTER", "MEET", "127.0.0.1", String(port), String(busPort));
  }
  const endMs = performance.now() + 20_000;
  while (!(await isWell(nodes))) {
    if (performance.now() > endMs) throw new Error("the cluster did not come up within 20 s");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    ports: nodes.map(({ port }) => port),
    roots: nodes.map(({ root }) => root),
    stop: () => {
      for (const { root, child, folder } of nodes) {
        root.disconnect();
        child.kill("SIGKILL");
        rmSync(folder, { recursive: true, force: true });
      }
    },
  };
}

async function startNode() {
  const [port, busPort] = [await freePort(), await freePort()];
  const folder = mkdtempSync(join(tmpdir(), "logout-everywhere-bench-"));
  const own = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "no"];
  const clustered = ["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"];
  const child = spawn(
    process.env.REDIS_SERVER ?? "redis-server",
    [...own, ...clustered, "--cluster-port", String(busPort)],
    { stdio: "ignore" },
  );
  const root = new Redis(port, "127.0.0.1", { retryStrategy: () => 20 });
  root.on("error", () => undefined);
  await root.ping();
  return { port, busPort, folder, child, root };
}

/** @param {{ root: Redis }[]} nodes */
async function isWell(nodes) {
  const infos = await Promise.all(nodes.map(({ root }) => root.cluster("INFO")));
  return infos.every((info) => info.includes("cluster_state:ok") && info.includes(`cluster_known_nodes:${PRIMARIES}`));
}

/** @returns {Promise<number>} */
async function freePort() {
  const probe = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => probe.once("listening", resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
