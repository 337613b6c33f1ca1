import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { inject } from "vitest";

const run = promisify(execFile);

const CONSUMER = fileURLToPath(new URL("../consumer", import.meta.url));

/** A project of its own in a temporary folder, with the packed library and its peers installed from the tarball. */
export class ConsumerProject {
  readonly folder: string = mkdtempSync(join(tmpdir(), "logout-everywhere-consumer-"));

  /** Installs the tarball and `packages` (`name@range`). */
  static async install(packages: readonly string[]): Promise<ConsumerProject> {
    const project = new ConsumerProject();
    project.write("package.json", JSON.stringify({ name: "consumer", private: true }));
    const flags = ["--no-audit", "--no-fund", "--no-package-lock", "--prefer-offline", "--loglevel=error"];
    try {
      await run("npm", ["install", ...flags, inject("tarball"), ...packages], { cwd: project.folder });
    } catch (error) {
      project.dispose();
      throw failure(`npm install ${packages.join(" ")}`, error);
    }
    return project;
  }

  /** Copies a file of test/package/consumer, under another name if one is given. */
  copy(file: string, target = file): void {
    mkdirSync(dirname(join(this.folder, target)), { recursive: true });
    copyFileSync(join(CONSUMER, file), join(this.folder, target));
  }

  write(file: string, text: string): void {
    mkdirSync(dirname(join(this.folder, file)), { recursive: true });
    writeFileSync(join(this.folder, file), text);
  }

  /** Runs a script with a Node binary; answers what it printed, throws that if it failed. */
  async node(binary: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
    try {
      const { stdout } = await run(binary, args, {
        cwd: this.folder,
        env: { ...process.env, NODE_OPTIONS: "", ...env },
        timeout: 60_000,
      });
      return stdout;
    } catch (error) {
      throw failure(args.join(" "), error);
    }
  }

  dispose(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function failure(what: string, error: unknown): Error {
  const { stdout, stderr } = error as { readonly stdout?: string; readonly stderr?: string };
  return new Error(`${what} failed:\n${stdout ?? ""}${stderr ?? ""}`, { cause: error });
}
