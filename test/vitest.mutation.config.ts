import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import main from "./vitest.config.js";

/** For Stryker: the tests that scripts/mutation.mjs names, in that order. */
const names = (process.env["MUTATION_TESTS"] ?? "").split(",");

class InOrder extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number =>
      names.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
    return [...specifications].sort((one, other) => rank(one) - rank(other));
  }
}

export default defineConfig({
  ...main,
  test: {
    ...main.test,
    isolate: true,
    include: names.map((name) => `test/${name}.test.ts`),
    globalSetup: ["test/support/mutation-server.ts"],
    setupFiles: ["test/support/mutation-reset.ts"],
    sequence: { sequencer: InOrder },
    // A mutant that makes a request wait for ever is to be found out soon.
    testTimeout: 10_000,
  },
});
