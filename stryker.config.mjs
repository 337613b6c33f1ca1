/** Mutation tests, by hand: `npm run mutation` (scripts/mutation.mjs). What came of it: docs/testing.md. */
export default {
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner"],
  vitest: { configFile: "test/vitest.mutation.config.ts", related: false },
  mutate: ["src/session/**/*.ts", "src/redis/**/*.ts"],
  coverageAnalysis: "perTest",
  // What is evaluated when a module is loaded, above all Lua: each would need all tests again, and an empty script fails them all.
  ignoreStatic: process.env.MUTATION_STATIC !== "1",
  concurrency: 1,
  timeoutMS: 6_000,
  timeoutFactor: 2,
  reporters: ["clear-text", "json"],
  clearTextReporter: { logTests: false, allowColor: false, allowEmojis: false, reportTests: false },
  jsonReporter: { fileName: `reports/mutation-${process.env.MUTATION_PART ?? "all"}.json` },
  ignorePatterns: ["/dist", "/.dist-*", "/coverage", "/reports", "/bench", "/examples", "/docs", "/test/history"],
  // There is none of this name: the copy's tsconfig.json needs no rewriting, the tests do not read it.
  tsconfigFile: "none.json",
};
