import { execFile } from "node:child_process";
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** The repository. */
export const ROOT: string = fileURLToPath(new URL("../..", import.meta.url));

/** For the `beforeAll` that may have to build, on a busy machine. */
export const BUILD_TIMEOUT_MS = 180_000;

/** What the build writes last. */
const LAST_OUTPUT = join(ROOT, "dist/cjs/package.json");
const INPUTS = ["src", "scripts/build.mjs", "tsconfig.base.json", "tsconfig.cjs.json", "tsconfig.esm.json"];
const LOCK_FOLDER = join(ROOT, "node_modules/.cache/logout-everywhere");
const LOCK = join(LOCK_FOLDER, "build.lock");
const POLL_MS = 100;

/**
 * Builds `dist` unless it is newer than all that goes into it. Safe when several test workers ask at once: one builds, the
 * others wait for it. Call it in a `beforeAll` with `BUILD_TIMEOUT_MS`.
 */
export async function ensureBuilt(): Promise<void> {
  while (!isFresh()) {
    if (takeLock()) {
      try {
        await build();
      } finally {
        rmSync(LOCK, { force: true });
      }
    } else {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}

function isFresh(): boolean {
  const built = statSync(LAST_OUTPUT, { throwIfNoEntry: false })?.mtimeMs;
  return built !== undefined && built > newestInputMs();
}

async function build(): Promise<void> {
  // Another worker may have finished between the look and the lock.
  if (isFresh()) return;
  const started = new Date();
  try {
    await promisify(execFile)(process.execPath, ["scripts/build.mjs"], { cwd: ROOT });
  } catch (cause) {
    const { stdout = "" } = cause as { stdout?: string };
    throw new Error(`the build failed:\n${stdout}`, { cause });
  }
  // What is edited while the compiler runs may not be in its output: that build counts as old.
  utimesSync(LAST_OUTPUT, started, started);
}

function newestInputMs(): number {
  return Math.max(...INPUTS.map((path) => newestMs(join(ROOT, path))));
}

function newestMs(path: string): number {
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  return Math.max(stats.mtimeMs, ...readdirSync(path).map((name) => newestMs(join(path, name))));
}

/** True if this process may build now. A lock left behind by a process that is gone is removed, for the next try to take. */
function takeLock(): boolean {
  mkdirSync(LOCK_FOLDER, { recursive: true });
  try {
    const file = openSync(LOCK, "wx");
    writeSync(file, String(process.pid));
    closeSync(file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    if (!isHeld()) rmSync(LOCK, { force: true });
    return false;
  }
}

function isHeld(): boolean {
  try {
    const pid = Number(readFileSync(LOCK, "utf8"));
    // Taken a moment ago and not yet signed.
    if (pid === 0) return Date.now() - statSync(LOCK).mtimeMs < 1_000;
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // ENOENT: released meanwhile; EPERM: somebody else's living process.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
