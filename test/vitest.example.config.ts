import { defineConfig } from "vitest/config";
import main from "./vitest.config.js";

/** The example shop as processes of its own: apart from `npm test`, which is to stay quick. */
export default defineConfig({
  ...main,
  test: { ...main.test, include: ["test/integration/example-app*.test.ts"], exclude: [] },
});
