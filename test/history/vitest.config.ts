import { defineConfig } from "vitest/config";

/** The long histories: apart from the other tests, since they want the machine for themselves. */
export default defineConfig({
  root: new URL("../..", import.meta.url).pathname,
  test: {
    include: ["test/history/**/*.test.ts"],
    pool: "forks",
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout: 300_000,
  },
});
