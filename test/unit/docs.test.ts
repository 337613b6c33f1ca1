import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { storeConfiguration } from "../../src/session/store-options.js";
import { encodeUserId } from "../../src/session/user-id.js";
import { anchorsOf, compileSnippets, deadLinks, pages, ROOT, readPage, snippetsOf } from "../support/snippets.js";

test("docs: every code block of README and docs compiles, and one that does not is found", () => {
  expect(snippetsOf("README.md").length).toBeGreaterThan(5);
  const wrong = "# Wrong\n\n```ts\nawait store.beginLogin(7);\nawait store.beginLogin({});\n```\n";
  const errors = compileSnippets({ "wrong.md": wrong });
  expect(errors).toHaveLength(1);
  expect(errors[0]).toMatch(/^wrong\.md:5 Argument of type '\{\}' is not assignable/);
}, 60_000);

test("docs: code blocks are in languages that are checked, or are no code", () => {
  for (const page of pages()) {
    const languages = [...readPage(page).matchAll(/^```(\w+)$/gm)].map(([, language]) => language);
    expect(languages.filter((language) => !["ts", "js", "sh", "text"].includes(language ?? ""))).toEqual([]);
  }
});

test.each(pages())("docs: the links of %s lead somewhere", (page) => {
  expect(deadLinks(page)).toEqual([]);
});

test("docs: every error code has a section in docs/errors.md, and every section a code", () => {
  const codes = [...typeText("src/errors.ts", "ErrorCode").matchAll(/"(ERR_[A-Z_]+)"/g)].map(([, code]) => code);
  expect(codes.length).toBeGreaterThan(5);
  const headings = [...readPage("docs/errors.md").matchAll(/^## (ERR_\w+)$/gm)].map(([, code]) => code);
  expect(headings.filter((code) => !/^ERR_INVALID_ARG/.test(code ?? "")).sort()).toEqual(codes.sort());
  for (const code of codes) expect(readPage("README.md")).toContain(`\`${code}\``);
  const sections = readPage("docs/errors.md").split(/^## /m).slice(1);
  for (const section of sections.filter((text) => text.startsWith("ERR_"))) {
    for (const part of ["**Since**", "**Why**", "**What to do**"]) expect(section).toContain(part);
  }
});

describe("docs: the options table of the README", () => {
  const rows = new Map(
    [...readPage("README.md").matchAll(/^\| `(\w+)` \| ([^|]*) \|/gm)].map(([, name = "", value = ""]) => [
      name,
      value,
    ]),
  );
  const client = Object.fromEntries(
    ["on", "removeListener", "get", "mget", "del", "pexpire", "pexpireat", "eval", "evalsha", "time", "pipeline"].map(
      (name) => [name, () => 0],
    ),
  );
  const defaults = Object.entries(storeConfiguration({ client } as never));

  test.each(defaults.filter(([name]) => name !== "client"))("docs: %s has the default of the code", (name, value) => {
    const stated = rows.get(name)?.trim();
    const plain = stated?.replace(/(?<=\d) (?=\d{3})/g, "");
    if (value === undefined) expect(stated).toBe("none");
    else if (typeof value === "number") expect(plain).toMatch(new RegExp(`^${value}(?!\\d)`));
    else expect(stated).toBe(`\`"${String(value)}"\``);
  });

  test("docs: lists every option", () => {
    for (const [name] of defaults) expect(rows.has(name), name).toBe(true);
  });
});

test("docs: the test vectors for user IDs are what the code computes", () => {
  const vectors = readPage("docs/redis-keys.md").matchAll(/^(".*") +-> +(\S+)$/gm);
  let count = 0;
  for (const [, userId = "", text] of vectors) {
    expect(encodeUserId("docs", JSON.parse(userId)), userId).toBe(text);
    count += 1;
  }
  expect(count).toBeGreaterThan(12);
});

test("docs: every row of the requirements that is built links to a file with a test of its name", () => {
  const rows = [...readPage("docs/requirements.md").matchAll(/^\| (R-[A-Z]\d+) \|.*\| ([^|]*) \|$/gm)];
  expect(rows.length).toBe(29);
  for (const [, row = "", link = ""] of rows) {
    const files = [...link.matchAll(/\]\(\.\.\/([^)#]+)\)/g)].map(([, file = ""]) => file);
    if (files.length === 0) expect(link).toBe("not built yet");
    for (const file of files) expect(readFileSync(join(ROOT, file), "utf8")).toContain(`${row}: `);
  }
});

test.each(
  readPage("docs/guarantees.md")
    .split(/^## (?=G\d)/m)
    .slice(1),
)("docs: a guarantee names its tests, %#", (section) => {
  const [, tests = ""] = /^- \*\*Tests\*\*: (.*)$/m.exec(section) ?? [];
  const links = [...tests.matchAll(/\]\(\.\.\/([^)]+)\) \(([^)]+)\)/g)];
  expect(links.length, section.slice(0, 40)).toBeGreaterThan(0);
  for (const [, file = "", names = ""] of links) {
    const text = readFileSync(join(ROOT, file), "utf8");
    for (const name of names.split(", "))
      expect(text, `${file} has no test ${name}`).toMatch(new RegExp(`\\b${name}\\b.*: `));
  }
});

test("docs: the errors page is reachable under the anchors that other pages use", () => {
  expect(anchorsOf("docs/errors.md").has("err_logout_unconfirmed")).toBe(true);
});

/** The source text of a type declaration. */
function typeText(file: string, name: string): string {
  const source = ts.createSourceFile(file, readFileSync(join(ROOT, file), "utf8"), ts.ScriptTarget.Latest, true);
  const found = source.statements.find((node) => ts.isTypeAliasDeclaration(node) && node.name.text === name);
  if (found === undefined) throw new Error(`${file} declares no ${name}`);
  return found.getText(source);
}
