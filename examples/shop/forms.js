// @ts-check

/**
 * A field of a submitted form as text; empty if it is missing or was sent more than once.
 *
 * @param {import("express").Request} req
 * @param {string} name
 * @returns {string}
 */
export function field(req, name) {
  const value = req.body?.[name];
  return typeof value === "string" ? value : "";
}
