import { spawn } from "node:child_process";
import { once } from "node:events";
import { onTestFinished } from "vitest";
import { ROOT } from "./build.js";

export interface WorkerProcess {
  readonly base: string;
  /** SIGKILL; resolves once it is gone. */
  kill(): Promise<void>;
}

/** Runs a file of this folder that serves an application on this database, as a process of its own, ended with the test. */
export async function startWorker(
  file: string,
  { port, db }: { port: number; db: number },
  env: Readonly<Record<string, string>>,
): Promise<WorkerProcess> {
  // Vite runs the worker's TypeScript on every Node that the package supports.
  const program = `
import { runnerImport } from "vite";
await runnerImport("test/support/${file}", { configFile: false, logLevel: "error" });
`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    cwd: ROOT,
    env: { PATH: process.env["PATH"], REDIS_PORT: String(port), REDIS_DB: String(db), ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const gone = once(child, "exit");
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await gone;
  };
  onTestFinished(kill);
  let output = "";
  const base = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      const listening = /^listening on (\d+)$/m.exec(output);
      if (listening !== null) resolve(`http://127.0.0.1:${listening[1]}`);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.once("error", reject);
    child.once("exit", (code, signal) => reject(new Error(`the worker ended with ${code ?? signal}:\n${output}`)));
  });
  return { base, kill };
}
