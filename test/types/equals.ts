/** True for the very same type; `any` equals only itself. */
export type Equals<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles only for `true`. */
export function is<_Check extends true>(): void {}
