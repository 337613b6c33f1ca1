/** Runs test/history/cli.ts, which is TypeScript, on every Node that the package supports. For its arguments see there. */
import { runnerImport } from "vite";

await runnerImport("test/history/cli.ts", { configFile: false, logLevel: "error" });
