import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    tarball: string;
    tarballFiles: readonly string[];
  }
}

/** Packs the package once for all tests, as `npm publish` would: built from the sources first. */
export default function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "logout-everywhere-pack-"));
  // The build prints to standard output too; --silent keeps that out of the JSON.
  execFileSync("npm", ["run", "--silent", "build"], { stdio: "inherit" });
  const report = execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  const { filename, files } = onlyPack(JSON.parse(report));
  project.provide("tarball", join(folder, filename));
  project.provide(
    "tarballFiles",
    files.map(({ path }) => path),
  );
  return () => rmSync(folder, { recursive: true, force: true });
}

interface Pack {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

/** npm reports an array of packs, newer versions an object by package name. */
function onlyPack(report: readonly Pack[] | Readonly<Record<string, Pack>>): Pack {
  const [pack] = Object.values(report);
  if (pack === undefined) throw new Error("npm pack reported no tarball");
  return pack;
}
