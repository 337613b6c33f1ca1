import type { TestProject } from "vitest/node";
import { startRedis } from "./redis-server.js";

declare module "vitest" {
  export interface ProvidedContext {
    redisPort: number;
  }
}

/** One server for the whole run; each test takes databases of its own on it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startRedis();
  project.provide("redisPort", server.port);
  return () => server.dispose();
}
