/**
 * express-session hashes `JSON.stringify(session)` while it ends the response. If that throws (a BigInt, a cycle, a throwing
 * `toJSON` in the data), the response never ends. The guard is a non-enumerable `toJSON` on the Session that answers the
 * session itself when its data can be written, and otherwise an object that looks like a change: express-session then calls
 * `store.set`, which reports the real error to `next`.
 */
export const JSON_GUARD: PropertyDescriptor = { value: guarded, configurable: true, writable: true };

let refusals = 0;

function guarded(this: object): object {
  for (const [name, value] of Object.entries(this)) {
    if (name === "cookie" || isPlain(value)) continue;
    try {
      JSON.stringify(value);
    } catch {
      refusals += 1;
      return { notSerializable: refusals };
    }
  }
  return this;
}

function isPlain(value: unknown): boolean {
  return typeof value !== "object" && typeof value !== "bigint" && typeof value !== "function";
}
