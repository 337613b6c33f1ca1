/** Checks of arguments and options. Misuse is a `TypeError` at once that says what was expected and what came. */

/** A `TypeError` with a `code`, as Node's own argument errors have. */
export function misuse(message: string, code: "ERR_INVALID_ARG_TYPE" | "ERR_INVALID_ARG_VALUE"): TypeError {
  return Object.assign(new TypeError(message), { code });
}

/** Names the kind of a value without showing it: the value may be a secret or a user ID. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "number" && !Number.isSafeInteger(value)) {
    return Number.isInteger(value) ? "an unsafe integer" : Number.isNaN(value) ? "NaN" : "a number that is no integer";
  }
  if (value === "") return "an empty string";
  if (typeof value === "undefined") return "undefined";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Throws unless `value` is a plain options object whose names are all in `known`. */
export function checkOptions(where: string, value: unknown, known: Readonly<Record<string, true>>): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw misuse(`${where}: expected an options object, got ${kindOf(value)}`, "ERR_INVALID_ARG_TYPE");
  }
  for (const name of Object.keys(value)) {
    if (!Object.hasOwn(known, name)) {
      throw misuse(
        `${where}: unknown option "${name}"; known are ${Object.keys(known).join(", ")}`,
        "ERR_INVALID_ARG_VALUE",
      );
    }
  }
}

/** Throws unless `value` is an integer from `min` to `max`; `unit` is named in the message. */
export function checkInteger(
  where: string,
  value: unknown,
  range: { readonly min: number; readonly max: number; readonly unit: string },
): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < range.min || value > range.max) {
    const got = typeof value === "number" ? String(value) : kindOf(value);
    throw misuse(
      `${where}: expected an integer number of ${range.unit} from ${range.min} to ${range.max}, got ${got}`,
      typeof value === "number" ? "ERR_INVALID_ARG_VALUE" : "ERR_INVALID_ARG_TYPE",
    );
  }
  return value;
}

/** Throws unless `value` is a function. */
export function checkFunction(where: string, value: unknown): void {
  if (typeof value !== "function") {
    throw misuse(`${where}: expected a function, got ${kindOf(value)}`, "ERR_INVALID_ARG_TYPE");
  }
}

/** Throws unless `value` is a non-empty string. */
export function checkText(where: string, value: unknown): string {
  if (typeof value !== "string" || value === "") {
    throw misuse(`${where}: expected a non-empty string, got ${kindOf(value)}`, "ERR_INVALID_ARG_TYPE");
  }
  return value;
}
