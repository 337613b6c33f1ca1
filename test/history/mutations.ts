import type { Rule } from "./operations.js";

/** One rule of the code, broken on purpose: the checker has to notice. */
export interface Mutation {
  readonly breaks: string;
  readonly file: string;
  readonly search: string;
  readonly replace: string;
  /** A rule that must be reported; others may be too. */
  readonly noticedAs: Rule;
}

export const MUTATIONS: Readonly<Record<string, Mutation>> = {};
