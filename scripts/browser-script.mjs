/**
 * Compiles and minifies src/browser and keeps the text in src/submit-token/browser-script.ts, so that the library needs no file beside its
 * modules to serve it. `node scripts/browser-script.mjs` writes the file if it is not up to date; scripts/build.mjs does the same.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { minifySync } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));
const target = join(root, "src/submit-token/browser-script.ts");

/** One scope: values before those who use them when the script starts. */
const FILES = ["texts", "state", "tokens", "buttons", "messages", "forms", "scripts", "start"];

/** What src/submit-token/browser-script.ts is to hold. */
export function browserScriptModule() {
  const folder = mkdtempSync(join(tmpdir(), "browser-script-"));
  try {
    const args = [join(root, "node_modules/typescript/bin/tsc"), "-p", join(root, "src/browser"), "--outDir", folder];
    execFileSync(process.execPath, args, { stdio: ["ignore", "inherit", "inherit"] });
    const code = FILES.map((name) => readFileSync(join(folder, `${name}.js`), "utf8")).join("");
    const { code: text, errors } = minifySync("submit-tokens.js", `(function(served){${code}})(SERVED)`, {
      compress: { target: "es2022" },
    });
    if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join("\n"));
    return `// Made of src/browser by scripts/browser-script.mjs; do not edit.

/** The script as text; SERVED in it stands for its configuration. */
export const BROWSER_SCRIPT: string = ${JSON.stringify(text)};
`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Leaves the file alone if it is up to date: its age decides whether a build is. */
export function updateBrowserScript() {
  const wanted = browserScriptModule();
  if (readFile(target) !== wanted) writeFileSync(target, wanted);
}

function readFile(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) updateBrowserScript();
