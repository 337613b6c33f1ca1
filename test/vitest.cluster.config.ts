import { defineConfig } from "vitest/config";
import main from "./vitest.config.js";

/** Clusters of six servers and sentinel groups of six: apart from `npm test`, which is to stay quick. */
export default defineConfig({
  ...main,
  test: {
    ...main.test,
    include: ["test/integration/{cluster,sentinel}-*.test.ts"],
    exclude: [],
    maxWorkers: 1,
    testTimeout: 60_000,
  },
});
