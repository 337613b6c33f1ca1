import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, onTestFinished } from "vitest";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

/** A page in a context of its own (as on a device of its own), and what went wrong in it. */
export interface Device {
  readonly page: Page;
  /** Console errors and exceptions. */
  readonly problems: readonly string[];
}

/** One browser for the tests of a file; each device is closed when its test ends. */
export function useChromium({ freezesPages = false } = {}): (options?: BrowserContextOptions) => Promise<Device> {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: executable(),
      // As in a browser that people use. playwright loses sight of a page that was frozen.
      ignoreDefaultArgs: freezesPages ? ["--disable-back-forward-cache"] : [],
    });
  });
  afterAll(() => browser?.close());
  return async (options = {}) => {
    if (browser === undefined) throw new Error("the browser has not started");
    const context = await browser.newContext(options);
    context.setDefaultTimeout(10_000);
    onTestFinished(() => context.close());
    const page = await context.newPage();
    const problems: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error") problems.push(message.text());
    });
    page.on("pageerror", (error) => problems.push(String(error)));
    return { page, problems };
  };
}

/**
 * How the form and its submit buttons look ("busy", "grey" or "usable"), each time that changes. The page says so itself: while
 * it is being left, Chromium answers no questions about it.
 */
export async function looksOf(page: Page): Promise<readonly string[]> {
  const looks: string[] = [];
  page.on("console", (message) => {
    if (message.text().startsWith("look: ")) looks.push(message.text().slice("look: ".length));
  });
  await page.evaluate(() => {
    let last = "";
    const look = (element: Element): string => {
      if (element.getAttribute("aria-busy") === "true") return "busy";
      return element.matches(":disabled[aria-disabled=true]") ? "grey" : "usable";
    };
    setInterval(() => {
      const now = Array.from(document.querySelectorAll("form, button, [type=submit]"), look).join(" ");
      if (now !== last) console.info(`look: ${now}`);
      last = now;
    }, 5);
  });
  return looks;
}

/** The path in CHROMIUM, else the first one on the PATH. */
function executable(): string {
  const { CHROMIUM, PATH = "" } = process.env;
  if (CHROMIUM) return CHROMIUM;
  const found = NAMES.flatMap((name) => PATH.split(delimiter).map((folder) => join(folder, name))).find(existsSync);
  if (found !== undefined) return found;
  throw new Error(`none of ${NAMES.join(", ")} is on the PATH; install chromium, or name one in CHROMIUM`);
}
