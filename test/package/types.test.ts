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
  node10: { module: "commonjs", moduleResolution: "node10", files: ["types.ts"], ignoreDeprecations: "6.0" },
};

describe.each(["5.8", "5.9", "5.11", "6.0"])("with ioredis %s", (version) => {
  let project: ConsumerProject;

  beforeAll(async () => {
    project = await ConsumerProject.install(["express-session@1", `ioredis@~${version}.0`, "typescript@~5.9.0"]);
    for (const name of ["types.ts", "types.cts", "types.mts"]) project.copy("types.ts", name);
  });

  afterAll(() => project?.dispose());

  test.each(Object.entries(SETTINGS))("an application compiles under %s", async (name, settings) => {
    await compile(name, settings, OWN_TSC);
  });

  // An older compiler once: what it objects to does not depend on the client.
  test.runIf(version === "5.11").each(Object.entries(SETTINGS))(
    "and under %s with TypeScript 5.9",
    async (name, all) => {
      const { ignoreDeprecations: _none, ...settings } = { ignoreDeprecations: undefined, ...all };
      await compile(`5.9 ${name}`, settings, join(project.folder, "node_modules/typescript/bin/tsc"));
    },
  );

  async function compile(name: string, settings: object, tsc: string): Promise<void> {
    const { files, ...options } = settings as { readonly files: readonly string[] };
    const config = `tsconfig.${name.replaceAll(/\W+/g, "-")}.json`;
    project.write(config, JSON.stringify({ compilerOptions: { ...STRICT, ...options }, files }));
    await project.node(process.execPath, [tsc, "-p", config]);
  }
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
