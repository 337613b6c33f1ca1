import type { IncomingMessage, ServerResponse } from "node:http";
import onHeaders from "on-headers";

/**
 * Makes sure that no cache keeps this response and that it is sent in full, whatever a later handler says about caching: the
 * headers are set at the moment they are written. Conditional headers of the request are dropped, as a 304 would bring back
 * the page of an earlier response.
 */
export function forceNoStore(req: IncomingMessage, res: ServerResponse): void {
  delete req.headers["if-none-match"];
  delete req.headers["if-modified-since"];
  onHeaders(res, () => {
    res.setHeader("Cache-Control", "private, no-store");
    for (const name of ["ETag", "Last-Modified", "Expires", "Surrogate-Control", "CDN-Cache-Control"]) {
      res.removeHeader(name);
    }
    addVary(res, "Cookie");
  });
}

function addVary(res: ServerResponse, name: string): void {
  const names = [res.getHeader("Vary") ?? []].flat().join(", ");
  if (names === "") res.setHeader("Vary", name);
  else if (!names.split(/\s*,\s*/).some((known) => known === "*" || known.toLowerCase() === name.toLowerCase())) {
    res.setHeader("Vary", `${names}, ${name}`);
  }
}
