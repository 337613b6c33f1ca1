import { defineConfig } from "vitest/config";

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  test: {
    include: ["test/{unit,integration}/**/*.test.ts"],
    // Servers that fail, clusters, processes against each other and the example shop: `npm run test:faults`, `test:cluster` and
    // `test:example`, parts of .ci/run.
    exclude: ["test/integration/{faults-*,cluster-*,sentinel-*,history,example-app*}.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    pool: "forks",
    maxWorkers: 2,
    // Modules are loaded once for all files: a third of the time would go into loading them for each. No test mocks any.
    isolate: false,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    // How long to wait for what comes by itself: no test says how soon it must come by failing.
    expect: { poll: { timeout: 5_000 } },
    coverage: { provider: "v8", include: ["src/**"], exclude: ["src/browser/**"], reporter: ["text-summary", "html"] },
  },
});
