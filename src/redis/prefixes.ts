import { checkText, misuse } from "../check.js";

/**
 * Throws a `TypeError` if any two key prefixes overlap: a session could then be written over a generation, and clearing
 * sessions would delete generations.
 */
export function checkPrefixes(where: string, prefixes: Readonly<Record<string, string>>): void {
  const entries = Object.entries(prefixes);
  for (const [name, prefix] of entries) checkText(`${where}: ${name}`, prefix);
  for (const [name, prefix] of entries) {
    for (const [otherName, other] of entries) {
      if (name < otherName && (prefix.startsWith(other) || other.startsWith(prefix))) {
        throw misuse(
          `${where}: ${name} ("${prefix}") and ${otherName} ("${other}") overlap; neither may start with the other`,
          "ERR_INVALID_ARG_VALUE",
        );
      }
    }
  }
}
