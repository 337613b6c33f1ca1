/** Builds dist/esm and dist/cjs with plain tsc, and before it what browsers get. The new dist takes the old one's place at once: what runs from it goes on running. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { updateBrowserScript } from "./browser-script.mjs";

// As deep as dist, so that source maps name the same paths.
const fresh = `.dist-${process.pid}`;
const old = `${fresh}-old`;

if (isFresh()) process.exit();
updateBrowserScript();
try {
  for (const format of ["esm", "cjs"]) {
    const args = ["node_modules/typescript/bin/tsc", "-p", `tsconfig.${format}.json`, "--outDir", `${fresh}/${format}`];
    execFileSync(process.execPath, args, { stdio: "inherit" });
  }
  mkdirSync(`${fresh}/cjs`, { recursive: true });
  // The package is "type": "module"; this folder alone is not.
  writeFileSync(`${fresh}/cjs/package.json`, `${JSON.stringify({ type: "commonjs" })}\n`);
  if (existsSync("dist")) renameSync("dist", old);
  renameSync(fresh, "dist");
} finally {
  for (const folder of [fresh, old]) rmSync(folder, { recursive: true, force: true });
}

/** Many commands build first: nothing is compiled again while nothing has changed. */
function isFresh() {
  // Written last.
  const builtAtMs = mtimeMs("dist/cjs/package.json");
  // Folders too: their time changes when a file goes.
  const inputs = [
    "src",
    "scripts",
    "package.json",
    ...readdirSync(".").filter((name) => /^tsconfig.*\.json$/.test(name)),
  ];
  const deep = ["src", "scripts"].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  );
  return [...inputs, ...deep].every((name) => mtimeMs(name) < builtAtMs);
}

/** @param {string} path */
function mtimeMs(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
