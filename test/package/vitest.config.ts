import { defineConfig } from "vitest/config";

/** Checks of the packed tarball in projects of their own. Slow, and needs the npm registry: not part of `npm test`. */
export default defineConfig({
  root: new URL("../..", import.meta.url).pathname,
  test: {
    include: ["test/package/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts", "test/package/support/pack.ts"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 180_000,
  },
});
