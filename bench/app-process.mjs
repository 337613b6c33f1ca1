// @ts-check
/** An application under load, seen from the benchmark: see served.mjs. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** @typedef {{ child: import("node:child_process").ChildProcess, port: number }} App */

/** @param {string} file @param {string[]} args @returns {Promise<App>} */
export async function startApp(file, args) {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
    env: { ...process.env, NODE_ENV: "production" },
  });
  const [{ port }] = await once(child, "message");
  return { child, port };
}

/** Microseconds of CPU so far. @param {App} app @returns {Promise<number>} */
export async function appCpu({ child }) {
  child.send("cpu");
  const [{ cpuUs }] = await once(child, "message");
  return cpuUs;
}
