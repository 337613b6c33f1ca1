import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, inject, test } from "vitest";

const SOURCES = fileURLToPath(new URL("../../src", import.meta.url));

test("the tarball holds each source file and it compiled twice, the documents and nothing else", () => {
  // The files of src/browser are compiled into a text.
  const sources = readdirSync(SOURCES, { recursive: true, encoding: "utf8" }).filter((name) => /\.\w+$/.test(name));
  const compiled = sources.flatMap((name) => {
    if (name.startsWith("browser/")) return [];
    const stem = name.slice(0, -".ts".length);
    return ["esm", "cjs"].flatMap((format) => ["js", "js.map", "d.ts"].map((end) => `dist/${format}/${stem}.${end}`));
  });
  const documents = ["CHANGELOG.md", "LICENSE", "README.md", "package.json", "dist/cjs/package.json"];
  // What the README links to is there as well.
  const linked = inject("tarballFiles").filter((name) => /^(?:docs|examples)\//.test(name));
  expect(linked).toEqual(expect.arrayContaining(["docs/errors.md", "docs/redis-keys.md", "examples/shop/app.js"]));
  const others = inject("tarballFiles").filter((name) => !linked.includes(name));
  const shipped = sources.map((name) => `src/${name}`);
  expect([...others].sort()).toEqual([...shipped, ...compiled, ...documents].sort());
});

test("the tarball stays small", () => {
  expect(statSync(inject("tarball")).size).toBeLessThan(450_000);
});

test("the manifest points at files that are there, types first", () => {
  const manifest = JSON.parse(fromTarball("package.json"));
  const files = new Set(inject("tarballFiles").map((name) => `./${name}`));
  for (const condition of [manifest.exports["."].import, manifest.exports["."].require]) {
    expect(Object.keys(condition)).toEqual(["types", "default"]);
    expect(Object.values(condition).filter((path) => !files.has(String(path)))).toEqual([]);
  }
  expect([manifest.main, manifest.types].filter((path) => !files.has(path))).toEqual([]);
});

test("internal members are in no declaration", () => {
  const declarations = inject("tarballFiles").filter((name) => name.endsWith(".d.ts"));
  expect(declarations.filter((name) => fromTarball(name).includes("@internal"))).toEqual([]);
});

test("source maps lead to sources that are in the tarball", () => {
  const files = new Set(inject("tarballFiles"));
  for (const name of ["dist/esm/index.js.map", "dist/cjs/session/scripts/save-records.js.map"]) {
    const sources = JSON.parse(fromTarball(name)).sources.map((path: string) => posix.join(posix.dirname(name), path));
    expect(sources).toEqual([expect.stringMatching(/^src\//)]);
    expect(files).toContain(sources[0]);
  }
  expect(fromTarball("src/index.ts")).toBe(readFileSync(`${SOURCES}/index.ts`, "utf8"));
});

function fromTarball(path: string): string {
  return execFileSync("tar", ["-xzOf", inject("tarball"), `package/${path}`], { encoding: "utf8" });
}
