import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ConsumerProject } from "./support/project.js";

const OWN_TSC = fileURLToPath(new URL("../../node_modules/typescript/bin/tsc", import.meta.url));

const STRICT = { strict: true, skipLibCheck: false, noEmit: true, esModuleInterop: true, target: "es2022" };

/** The settings applications compile under, each with the files of the kind it is for. */
const SETTINGS = {
  "nodenext, CommonJS and ESM": { module: "nodenext", moduleResolution: "nodenext", files: ["types.cts", "types.mts"] },
  bundler: { module: "esnext", moduleResolution: "bundler", files: ["types.ts"] },
  node10: { module: "commonjs", moduleResolution: "node10", files: ["types.ts"] },
};

/**
 * Oldest, newest and next; the older compiler once, for what it objects to does not depend on the client. How modules are found
 * does not depend on the client either, so one pair covers that for each compiler.
 */
const COMBINATIONS = [
  { ioredis: "5.8", compiler: "TypeScript 6.0", settings: ["bundler"] },
  { ioredis: "5.11", compiler: "TypeScript 6.0", settings: Object.keys(SETTINGS) },
  { ioredis: "6.0", compiler: "TypeScript 6.0", settings: ["bundler"] },
  { ioredis: "5.11", compiler: "TypeScript 5.9", settings: Object.keys(SETTINGS) },
];

describe.each(COMBINATIONS)("with ioredis $ioredis, $compiler", ({ ioredis, compiler, settings: compiled }) => {
  const isOlder = compiler !== "TypeScript 6.0";
  let project: ConsumerProject;

  beforeAll(async () => {
    const extra = isOlder ? ["typescript@~5.9.0"] : [];
    project = await ConsumerProject.install(["express-session@1", `ioredis@~${ioredis}.0`, ...extra]);
    for (const name of ["types.ts", "types.cts", "types.mts"]) project.copy("types.ts", name);
  });

  afterAll(() => project?.dispose());

  test.each(Object.entries(SETTINGS).filter(([name]) => compiled.includes(name)))(
    "an application compiles under %s",
    async (name, { files, ...settings }) => {
      const options: Record<string, unknown> = { ...STRICT, ...settings };
      // TypeScript 6 wants node10 confirmed; older ones refuse the confirmation.
      if (!isOlder) options["ignoreDeprecations"] = "6.0";
      const config = `tsconfig.${name.replaceAll(/\W+/g, "-")}.json`;
      project.write(config, JSON.stringify({ compilerOptions: options, files }));
      await project.node(process.execPath, [isOlder ? "node_modules/typescript/bin/tsc" : OWN_TSC, "-p", config]);
    },
  );
});

describe("the declarations", () => {
  let project: ConsumerProject;

  beforeAll(async () => {
    project = await ConsumerProject.install(["express-session@1", "ioredis@5"]);
  });

  afterAll(() => project?.dispose());

  test.each(["esm", "cjs"])("hold no `any` (%s)", (format) => {
    const entry = join(project.folder, "node_modules/logout-everywhere/dist", format, "index.d.ts");
    const program = ts.createProgram([entry], {
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      strict: true,
    });
    const own = program.getSourceFiles().filter(({ fileName }) => fileName.includes("/logout-everywhere/dist/"));
    expect(own.length).toBeGreaterThan(20);
    expect(own.flatMap(anyKeywords)).toEqual([]);
  });
});

/** Where `any` is written in a declaration file, as `file: line`. Types that cannot be resolved fail the compile tests. */
function anyKeywords(file: ts.SourceFile): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (node.kind === ts.SyntaxKind.AnyKeyword) {
      found.push(`${file.fileName}: ${file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}
