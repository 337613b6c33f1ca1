import type { TestProject } from "vitest/node";

/** The server that scripts/mutation.mjs has started, instead of one per run: see there. */
export default function setup(project: TestProject): void {
  const port = Number(process.env["MUTATION_REDIS_PORT"]);
  if (!(port > 0)) throw new Error("Run mutation tests with `npm run mutation`: it starts their Redis server");
  project.provide("redisPort", port);
}
