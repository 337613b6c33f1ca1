import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

/** The repository's root folder. */
export const ROOT: string = fileURLToPath(new URL("../..", import.meta.url));

/** A fenced `ts` or `js` block of a page. */
export interface Snippet {
  readonly language: "ts" | "js";
  readonly code: string;
  /** The page's line on which the code starts, counted from 1. */
  readonly line: number;
  /** True if the block stands on its own; otherwise it goes on where the page's earlier blocks ended. */
  readonly alone: boolean;
  /** Code that the page does not show and the block needs: `<!-- snippet alone … -->`. */
  readonly hidden: string;
}

/** README.md, CHANGELOG.md if there is one, and all of docs/, as paths relative to the root. */
export function pages(): string[] {
  const docs = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" }).map((name) => join("docs", name));
  const top = readdirSync(ROOT).filter((name) => name === "README.md" || name === "CHANGELOG.md");
  return [...top, ...docs].filter((name) => name.endsWith(".md")).sort();
}

export function readPage(page: string): string {
  return readFileSync(join(ROOT, page), "utf8");
}

export function snippetsOf(page: string, text: string = readPage(page)): Snippet[] {
  const snippets: Snippet[] = [];
  for (const match of text.matchAll(/(?:<!-- snippet alone\n([\s\S]*?)-->\n+)?^```(ts|js)\n([\s\S]*?)^```$/gm)) {
    const [whole, hidden, language, code = ""] = match;
    const before = text.slice(0, match.index) + whole.slice(0, whole.indexOf("```"));
    snippets.push({
      language: language === "js" ? "js" : "ts",
      code,
      line: before.split("\n").length + 1,
      alone: hidden !== undefined,
      hidden: hidden ?? "",
    });
  }
  return snippets;
}

/** A module made of snippets, with the way back from its lines to the page's. */
interface Module {
  readonly file: string;
  readonly page: string;
  text: string;
  readonly parts: { readonly fromLine: number; readonly pageLine: number }[];
}

/**
 * Compiles the snippets of all pages strictly against src, and of `extra` pages that are no files; answers a line
 * `page:line message` for each error.
 */
export function compileSnippets(extra: Readonly<Record<string, string>> = {}): string[] {
  const texts = [...pages().map((page): [string, string] => [page, readPage(page)]), ...Object.entries(extra)];
  const modules = new Map(texts.flatMap(([page, text]) => modulesOf(page, text)).map((each) => [each.file, each]));
  const options: ts.CompilerOptions = {
    ...baseOptions(),
    noEmit: true,
    allowJs: true,
    checkJs: true,
    skipLibCheck: true,
    // What is right for a library's own code would only make examples longer.
    noUnusedLocals: false,
    noUnusedParameters: false,
    noPropertyAccessFromIndexSignature: false,
    paths: { "logout-everywhere": [join(ROOT, "src/index.ts")] },
  };
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (file) => modules.has(file) || fileExists(file);
  host.readFile = (file) => modules.get(file)?.text ?? readFile(file);
  host.getSourceFile = (file, target, ...rest) => {
    const module = modules.get(file);
    if (module === undefined) return getSourceFile(file, target, ...rest);
    return ts.createSourceFile(file, module.text, target, true);
  };
  const program = ts.createProgram([...modules.keys()], options, host);
  // Only the snippets: what they import is checked by the project's own type check.
  const diagnostics = [...modules.keys()].flatMap((file) =>
    ts.getPreEmitDiagnostics(program, program.getSourceFile(file)),
  );
  return [...new Set(diagnostics.map((diagnostic) => describe(diagnostic, modules)))];
}

function baseOptions(): ts.CompilerOptions {
  const config = ts.readConfigFile(join(ROOT, "tsconfig.base.json"), ts.sys.readFile);
  return ts.convertCompilerOptionsFromJson(config.config.compilerOptions, ROOT).options;
}

/** One module for the blocks of a page that go on from one another, and one for each that stands alone. */
function modulesOf(page: string, text: string): Module[] {
  const modules: Module[] = [];
  let flow: Module | undefined;
  for (const snippet of snippetsOf(page, text)) {
    if (!snippet.alone && flow !== undefined && flow.file.endsWith(snippet.language)) append(flow, snippet);
    else {
      const name = `${page.replace(/\W/g, "-")}-${snippet.line}.${snippet.language}`;
      const module: Module = { file: join(ROOT, "docs", name), page, text: "export {};\n", parts: [] };
      // Other pages build on the application that the README sets up.
      if (!snippet.alone && page !== "README.md") module.text += readmeSetUp();
      append(module, snippet);
      modules.push(module);
      if (!snippet.alone) flow = module;
    }
  }
  return modules;
}

function readmeSetUp(): string {
  return snippetsOf("README.md")[0]?.code ?? "";
}

function append(module: Module, { hidden, code, line }: Snippet): void {
  module.text += `${hidden}\n`;
  module.parts.push({ fromLine: module.text.split("\n").length - 1, pageLine: line });
  module.text += code;
}

function describe(diagnostic: ts.Diagnostic, modules: ReadonlyMap<string, Module>): string {
  const message = ts.flattenDiagnosticMessageText(diagnostic.messageText, " ");
  if (diagnostic.file === undefined) return message;
  const line = diagnostic.file.getLineAndCharacterOfPosition(diagnostic.start ?? 0).line;
  const module = modules.get(diagnostic.file.fileName);
  if (module === undefined) return `${relative(ROOT, diagnostic.file.fileName)}:${line + 1} ${message}`;
  const part = module.parts.findLast(({ fromLine }) => fromLine <= line);
  return `${module.page}:${part === undefined ? "hidden" : part.pageLine + line - part.fromLine} ${message}`;
}

/** The relative links of a page that lead nowhere: to a missing file, or to a heading that the file has not. */
export function deadLinks(page: string): string[] {
  const text = readPage(page).replace(/^```[\s\S]*?^```$/gm, "");
  const dead: string[] = [];
  for (const [, target = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue;
    const [path = "", anchor] = target.split("#");
    const file = path === "" ? page : join(dirname(page), path);
    if (!ts.sys.fileExists(join(ROOT, file)) && !ts.sys.directoryExists(join(ROOT, file))) dead.push(target);
    else if (anchor !== undefined && !anchorsOf(file).has(anchor)) dead.push(target);
  }
  return dead;
}

/** The anchors that GitHub gives a page's headings. */
export function anchorsOf(page: string): Set<string> {
  const headings = readPage(page).matchAll(/^#+ (.*)$/gm);
  return new Set(
    [...headings].map(([, title = ""]) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}
