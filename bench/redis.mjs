// @ts-check
/** A Redis server for one benchmark run. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";

/** Starts a server without persistence on a free port and waits for its ready line. */
export async function startRedis() {
  const port = await freePort();
  const binary = process.env.REDIS_SERVER ?? "redis-server";
  const child = spawn(binary, ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  await new Promise((resolve, reject) => {
    child.stdout.on("data", (chunk) => {
      output += chunk;
      if (output.includes("Ready to accept connections")) resolve(undefined);
    });
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`redis-server ended with ${code}:\n${output}`)));
  });
  return {
    port,
    version: /Redis version=([0-9.]+)/.exec(output)?.[1] ?? "unknown",
    stop: async () => {
      child.removeAllListeners("exit");
      const gone = once(child, "exit");
      child.kill();
      await gone;
    },
  };
}

async function freePort() {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
