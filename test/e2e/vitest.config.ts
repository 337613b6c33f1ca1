import { defineConfig } from "vitest/config";

/** In a real browser, one test after the other: `npm run test:e2e`. */
export default defineConfig({
  root: new URL("../..", import.meta.url).pathname,
  test: {
    include: ["test/e2e/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    pool: "forks",
    fileParallelism: false,
    testTimeout: 20_000,
    hookTimeout: 180_000,
  },
});
