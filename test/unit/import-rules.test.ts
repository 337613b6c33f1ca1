import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const IMPORTS = [
  "node:crypto",
  "express",
  "express-session",
  "ioredis",
  "./own.js",
  "../check.js",
  "../http/answer.js",
  "../redis/connection.js",
  "../redis/client.js",
  "../index.js",
  "../session/login.js",
  "../admin/admin-logout.js",
  "../../redis/script.js",
  "../../redis/client.js",
  "../../index.js",
  "../../admin/admin-logout.js",
];

/** What each kind of file may import of the above. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  "src/check.ts": ["node:crypto"],
  "src/redis/scratch.ts": ["node:crypto", "./own.js", "../check.js"],
  "src/http/scratch.ts": ["node:crypto", "./own.js", "../check.js"],
  "src/session/scratch.ts": ["node:crypto", "./own.js", "../check.js", "../http/answer.js", "../redis/connection.js"],
  "src/session/generation-store.ts": [
    "node:crypto",
    "express-session",
    "./own.js",
    "../check.js",
    "../http/answer.js",
    "../redis/connection.js",
  ],
  "src/session/scratch-options.ts": ["node:crypto", "express-session", "./own.js", "../check.js", "../redis/client.js"],
  "src/session/scripts/scratch.ts": ["node:crypto", "./own.js", "../check.js", "../../redis/script.js"],
  "src/browser/scratch.ts": [],
  "src/admin/scratch.ts": ["node:crypto", "./own.js", "../check.js", "../http/answer.js", "../redis/connection.js"],
  "src/submit-token/scratch.ts": [
    "node:crypto",
    "./own.js",
    "../check.js",
    "../http/answer.js",
    "../redis/connection.js",
  ],
};

const folder = mkdtempSync(join(tmpdir(), "logout-everywhere-rules-"));
let refused: ReadonlySet<string>;

beforeAll(() => {
  copyFileSync(join(ROOT, "biome.json"), join(folder, "biome.json"));
  for (const file of Object.keys(ALLOWED)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), IMPORTS.map((name) => `export * from "${name}";\n`).join(""));
  }
  refused = lint();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each(Object.keys(ALLOWED))("imports of %s follow the layers", (file) => {
  const allowed = IMPORTS.filter((_name, index) => !refused.has(`${file}:${index + 1}`));
  expect(allowed).toEqual(ALLOWED[file]);
});

/** The places, as `file:line`, at which the linter refuses an import. */
function lint(): ReadonlySet<string> {
  const biome = join(ROOT, "node_modules/@biomejs/biome/bin/biome");
  const args = ["lint", "--vcs-enabled=false", "--only=style/noRestrictedImports", "--max-diagnostics=none"];
  let report = "";
  try {
    execFileSync(process.execPath, [biome, ...args, "--reporter=github", "."], { cwd: folder, stdio: "pipe" });
  } catch (error) {
    report = String((error as { readonly stdout?: unknown }).stdout);
  }
  const places = report.matchAll(/^::error .*?file=(.*?),line=(\d+),/gm);
  return new Set([...places].map(([, file = "", line]) => `${file.slice(file.indexOf("src/"))}:${line}`));
}
