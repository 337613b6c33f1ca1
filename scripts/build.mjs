/** Builds dist/esm and dist/cjs with plain tsc, and before it what browsers get. The new dist takes the old one's place at once: what runs from it goes on running. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { updateBrowserScript } from "./browser-script.mjs";

// As deep as dist, so that source maps name the same paths.
const fresh = `.dist-${process.pid}`;
const old = `${fresh}-old`;

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
