import type { Script } from "../../src/redis/script.js";
import type { CommandTest } from "./tcp-proxy.js";

/** The command that runs this script, by its SHA-1 or as text; `key` narrows it down to a key that contains that. */
export function runs(script: Script<unknown>, key = ""): CommandTest {
  return (words) => (words[1] === script.sha1 || words[1] === script.lua) && (words[3] ?? "").includes(key);
}

/** A command of this name whose first key contains `key`. */
export function named(name: string, key = ""): CommandTest {
  return (words) => words[0] === name && (words[1] ?? "").includes(key);
}
