import { execFileSync } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";

const NAMES = ["redis-server", "valkey-server"];

const HELP =
  "The tests need a Redis server. Install redis-server (7.0 or newer) or valkey-server (7.2 or newer), " +
  "or set REDIS_SERVER to the path of one.";

/**
 * Finds the server binary: REDIS_SERVER, else redis-server or valkey-server on the PATH, else, on Debian as root, by
 * installing it. Throws a sentence that says what to install: tests never skip for want of a server.
 */
export function redisBinary(): string {
  const configured = process.env["REDIS_SERVER"];
  if (configured !== undefined && configured !== "") {
    if (isExecutable(configured)) return configured;
    throw new Error(`REDIS_SERVER is set to a path that cannot be run. ${HELP}`);
  }
  const found = onPath();
  if (found !== undefined) return found;
  if (!existsSync("/etc/debian_version") || process.getuid?.() !== 0) throw new Error(HELP);
  installOnDebian();
  const installed = onPath();
  if (installed === undefined) throw new Error(HELP);
  return installed;
}

function onPath(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function installOnDebian(): void {
  console.log("redis-server not found; installing it with apt-get");
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  try {
    execFileSync("apt-get", ["update", "-qq"], { stdio: "ignore", env });
    execFileSync("apt-get", ["install", "-y", "-qq", "redis-server"], { stdio: "ignore", env });
  } catch (cause) {
    throw new Error(`apt-get could not install redis-server. ${HELP}`, { cause });
  }
}
