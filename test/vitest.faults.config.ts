import { defineConfig } from "vitest/config";
import main from "./vitest.config.js";

/** Servers that fail in every way, and short histories: apart from `npm test`, which is to stay quick. */
export default defineConfig({
  ...main,
  test: { ...main.test, include: ["test/integration/{faults-*,history}.test.ts"], exclude: [], maxWorkers: 1 },
});
