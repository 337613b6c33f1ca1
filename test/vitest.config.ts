import { defineConfig } from "vitest/config";

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  test: {
    include: ["test/{unit,integration}/**/*.test.ts"],
    // Servers that fail, and processes against each other: `npm run test:faults`, part of .ci/run.
    exclude: ["test/integration/{faults-*,history}.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    coverage: { provider: "v8", include: ["src/**"], exclude: ["src/browser/**"], reporter: ["text-summary", "html"] },
  },
});
