import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, inject, test } from "vitest";

const SOURCES = fileURLToPath(new URL("../../src", import.meta.url));

test("the tarball holds each source file compiled twice, the documents and nothing else", () => {
  // The files of src/browser are in there as a text.
  const sources = readdirSync(SOURCES, { recursive: true, encoding: "utf8" }).filter(
    (name) => name.endsWith(".ts") && !name.startsWith("browser/"),
  );
  const compiled = sources.flatMap((name) => {
    const stem = name.slice(0, -".ts".length);
    return ["esm", "cjs"].flatMap((format) => ["js", "js.map", "d.ts"].map((end) => `dist/${format}/${stem}.${end}`));
  });
  const documents = ["CHANGELOG.md", "LICENSE", "README.md", "package.json", "dist/cjs/package.json"];
  // What the README links to is there as well.
  const linked = inject("tarballFiles").filter((name) => /^(?:docs|examples)\//.test(name));
  expect(linked).toEqual(expect.arrayContaining(["docs/errors.md", "docs/redis-keys.md", "examples/shop/app.js"]));
  const others = inject("tarballFiles").filter((name) => !linked.includes(name));
  expect([...others].sort()).toEqual([...compiled, ...documents].sort());
});

test("the tarball stays small", () => {
  expect(statSync(inject("tarball")).size).toBeLessThan(300_000);
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

test("source maps carry their sources", () => {
  const map = JSON.parse(fromTarball("dist/esm/index.js.map"));
  expect(map.sourcesContent).toEqual([readFileSync(`${SOURCES}/index.ts`, "utf8")]);
});

function fromTarball(path: string): string {
  return execFileSync("tar", ["-xzOf", inject("tarball"), `package/${path}`], { encoding: "utf8" });
}
