// @ts-check

/** Text that is HTML already. */
export class Html {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }
}

/** @type {Readonly<Record<string, string>>} */
const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** @param {string} text */
export function escapeHtml(text) {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

/**
 * Template tag: whatever is put in is escaped, unless it was made by this tag itself. Lists are joined; `undefined` and `false`
 * leave nothing. Attribute values must stand in quotes.
 *
 * @param {TemplateStringsArray} strings
 * @param {...unknown} values
 * @returns {Html}
 */
export function html(strings, ...values) {
  return new Html(strings.reduce((text, part, index) => text + toHtml(values[index - 1]) + part));
}

/**
 * @param {unknown} value
 * @returns {string}
 */
function toHtml(value) {
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(toHtml).join("");
  if (value === undefined || value === false) return "";
  return escapeHtml(String(value));
}
