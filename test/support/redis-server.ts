import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { redisBinary } from "./redis-binary.js";

/** A redis-server process of the test's own, on a free port of the loopback interface. */
export interface RedisServer {
  readonly port: number;
  readonly folder: string;
  /** Ends the process (by default politely) and waits until it is gone; its folder stays. */
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Sends a signal and does not wait: SIGSTOP for a server that hangs, SIGCONT for one that goes on. */
  signal(signal: NodeJS.Signals): void;
  /** Starts it again on the same port and folder; it loads the dump that lies there. `more` is for this start only. */
  start(more?: readonly string[]): Promise<void>;
  /** Ends the process and removes its folder. */
  dispose(): Promise<void>;
}

/** Starts a server and waits for its ready line. `args` are appended to its command line. */
export async function startRedis(args: readonly string[] = []): Promise<RedisServer> {
  return await startProcess(({ port, folder }) => {
    const own = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--databases", "4096"];
    return [...own, ...args];
  }, "Ready to accept connections");
}

/** A sentinel that watches nothing yet. */
export async function startSentinelServer(): Promise<RedisServer> {
  return await startProcess(({ port, folder }) => {
    // A sentinel insists on a file that it can write to.
    const file = join(folder, "sentinel.conf");
    if (!existsSync(file)) writeFileSync(file, `port ${port}\nbind 127.0.0.1\ndir ${folder}\n`);
    return [file, "--sentinel"];
  }, "Sentinel ID is");
}

async function startProcess(
  argsFor: (place: { readonly port: number; readonly folder: string }) => readonly string[],
  readyText: string,
): Promise<RedisServer> {
  const binary = redisBinary();
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "logout-everywhere-redis-"));
  let child: ChildProcess | undefined;

  const start = async (more: readonly string[] = []): Promise<void> => {
    child = spawn(binary, [...argsFor({ port, folder }), ...more], { stdio: ["ignore", "pipe", "pipe"] });
    await readyLine(child, readyText);
  };
  const stop = async (signal: NodeJS.Signals = "SIGTERM"): Promise<void> => {
    const ending = child;
    child = undefined;
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    const gone = once(ending, "exit");
    ending.kill(signal);
    await gone;
  };
  await start();
  return {
    port,
    folder,
    start,
    stop,
    signal: (signal) => child?.kill(signal),
    dispose: async () => {
      await stop("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function readyLine(child: ChildProcess, text: string): Promise<void> {
  let output = "";
  await new Promise<void>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      if (output.includes(text)) resolve();
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`redis-server ended with ${code} before it was ready:\n${output}`)));
  });
}

/** A TCP port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  probe.listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
