import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { Redis } from "ioredis";
import { onTestFinished } from "vitest";
import { Browser, type Page } from "./browser.js";
import { ensureBuilt, ROOT } from "./build.js";
import { freshDatabase } from "./clients.js";
import { startProxy, type TcpProxy } from "./tcp-proxy.js";

/** The example shop as a process of its own, on a free port. */
export interface ExampleApp {
  readonly base: string;
  /** All it has printed so far. */
  output(): string;
  browser(): Browser;
  /** A browser in which this demo user is signed in. */
  signedIn(name: DemoUser): Promise<Browser>;
  /** Sends a signal and waits for the process to end; answers its exit code, null if the signal killed it. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export type DemoUser = keyof typeof PASSWORDS;

/** As the sign-in page shows them. */
export const PASSWORDS = { alice: "tea-party", bob: "can-we-fix-it", carol: "open-sesame" } as const;

const READY_LINE = /^The shop is open at (http\S+)\/$/m;

/** Starts the shop (after a build, if one is needed) and waits until it listens. Whoever starts it stops it. */
export async function startExampleApp(settings: Readonly<Record<string, string>> = {}): Promise<ExampleApp> {
  await ensureBuilt();
  const { child, output } = spawnExampleApp(settings);
  const base = await baseUrl(child, output);
  const browser = (): Browser => new Browser(base);
  return {
    base,
    output,
    browser,
    signedIn: async (name) => {
      const device = browser();
      const page = await signIn(device, name);
      if (page.status !== 303) throw new Error(`sign-in answered ${page.status}: ${page.text}`);
      return device;
    },
    stop: async (signal = "SIGTERM") => {
      if (child.exitCode === null && child.signalCode === null) {
        const gone = once(child, "exit");
        child.kill(signal);
        await gone;
      }
      return child.exitCode;
    },
  };
}

/** The process alone, with nothing of this process' environment that is a setting of the shop. */
export function spawnExampleApp(settings: Readonly<Record<string, string>>): {
  child: ChildProcess;
  output: () => string;
} {
  const child = spawn(process.execPath, [join(ROOT, "examples/shop/server.js")], {
    env: { PATH: process.env["PATH"], PORT: "0", ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  const read = (chunk: Buffer): void => {
    text += chunk.toString();
  };
  child.stdout?.on("data", read);
  child.stderr?.on("data", read);
  return { child, output: () => text };
}

async function baseUrl(child: ChildProcess, output: () => string): Promise<string> {
  return await new Promise<string>((resolve, reject) => {
    child.stdout?.on("data", () => {
      const url = READY_LINE.exec(output())?.[1];
      if (url !== undefined) resolve(url);
    });
    child.once("exit", (code) => reject(new Error(`the shop ended with ${code} before it listened:\n${output()}`)));
  });
}

/** The URL of an empty database on the shared Redis. */
export async function freshRedisUrl(): Promise<{ url: string; port: number; db: number }> {
  const { port, db } = await freshDatabase();
  return { url: `redis://127.0.0.1:${port}/${db}`, port, db };
}

/** A shop that reaches Redis through a proxy; `redis` goes there directly. */
export async function shopBehindProxy(): Promise<{ shop: ExampleApp; proxy: TcpProxy; redis: Redis }> {
  const { port, db } = await freshRedisUrl();
  const redis = new Redis(port, "127.0.0.1", { db });
  const proxy = await startProxy(port);
  const shop = await startExampleApp({ REDIS_URL: `redis://127.0.0.1:${proxy.port}/${db}` });
  onTestFinished(async () => {
    await shop.stop();
    redis.disconnect();
  });
  return { shop, proxy, redis };
}

export function signIn(device: Browser, name: string, password?: string): Promise<Page> {
  const known: Readonly<Record<string, string>> = PASSWORDS;
  return device.post("/sign-in", { name, password: password ?? known[name] ?? "" });
}

/** What the account page of a browser shows; `undefined` if it gets the sign-in page instead. */
export async function accountOf(
  device: Browser,
): Promise<{ userId: string; generation: string; signedInAt: string } | undefined> {
  const { status, text } = await device.get("/account");
  if (status === 401) return undefined;
  if (status !== 200) throw new Error(`/account answered ${status}: ${text}`);
  return {
    userId: /User ID<\/dt><dd><code>([^<]*)/.exec(text)?.[1] ?? "",
    generation: /id="generation">([^<]*)/.exec(text)?.[1] ?? "",
    signedInAt: /<time datetime="([^"]*)/.exec(text)?.[1] ?? "",
  };
}

/** The text of the notice on a page. */
export function noticeOn({ text }: Page): string | undefined {
  return /<p class="notice[^>]*>([^<]*)/.exec(text)?.[1];
}

/** True if the page is the sign-in form. */
export function isSignInPage({ text }: Page): boolean {
  return text.includes('<form method="post" action="/sign-in">');
}
