import { createHash } from "node:crypto";

/**
 * A Lua script with what is needed to run it. The SHA-1 is computed here, so no `SCRIPT LOAD` round trip is ever needed.
 * Every script of this library touches exactly one key: none can meet CROSSSLOT on a cluster.
 */
export interface Script<Reply> {
  readonly name: string;
  readonly lua: string;
  readonly sha1: string;
  /** Turns the flat reply (integer status first) into an outcome; `undefined` when it has the wrong shape. */
  readonly decode: (status: number, rest: readonly unknown[]) => Reply | undefined;
}

/** Defines a script; `lua` starts with its KEYS/ARGV/reply header. */
export function defineScript<Reply>(definition: {
  readonly name: string;
  readonly lua: string;
  readonly decode: (status: number, rest: readonly unknown[]) => Reply | undefined;
}): Script<Reply> {
  return { ...definition, sha1: createHash("sha1").update(definition.lua).digest("hex") };
}
