import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "vite";
import type { Mutation } from "./mutations.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A program made of TypeScript files, ready for `node`. */
export interface Bundle {
  readonly file: string;
  dispose(): void;
}

/** Makes one of a program in `test/history`, the library in it as its sources are now, with one rule broken if asked for. */
export async function bundle(name: string, mutation?: Mutation): Promise<Bundle> {
  // Below node_modules, so that the program finds its packages.
  const cache = join(ROOT, "node_modules/.cache/logout-everywhere");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "history-"));
  await build({
    root: ROOT,
    configFile: false,
    logLevel: "error",
    plugins: mutation === undefined ? [] : [mutating(mutation)],
    build: {
      ssr: join(ROOT, `test/history/${name}.ts`),
      outDir: folder,
      target: "node20",
      minify: false,
      rollupOptions: { output: { entryFileNames: `${name}.mjs` } },
    },
  });
  return { file: join(folder, `${name}.mjs`), dispose: () => rmSync(folder, { recursive: true, force: true }) };
}

function mutating({ file, search, replace }: Mutation): Plugin {
  let isDone = false;
  return {
    name: "mutation",
    enforce: "pre",
    transform(code, id) {
      if (id !== join(ROOT, file)) return undefined;
      if (code.split(search).length !== 2) throw new Error(`the mutation of ${file} does not fit its text any more`);
      isDone = true;
      return { code: code.replace(search, () => replace), map: null };
    },
    buildEnd(error) {
      if (error === undefined && !isDone) throw new Error(`the mutation is of a file that is not used: ${file}`);
    },
  };
}
