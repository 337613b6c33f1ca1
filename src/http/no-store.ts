import type { IncomingMessage, ServerResponse } from "node:http";
import onHeaders from "on-headers";

/** Response headers that speak to caches: of Node and Express, and those that some proxies prefer to `Cache-Control`. */
const CACHE_HEADER =
  /^(?:cache-control|etag|last-modified|expires|surrogate-control|x-accel-expires|(?:[a-z]+-)*cdn-cache-control)$/i;

/**
 * Makes sure that no cache keeps this response and that it is sent in full, whatever another handler says about caching: the
 * headers are set at the moment they are written, and stay so for whoever else listens to that moment. Conditional headers of the request are dropped, as a 304 would bring back
 * the page of an earlier response.
 */
export function forceNoStore(req: IncomingMessage, res: ServerResponse): void {
  delete req.headers["if-none-match"];
  delete req.headers["if-modified-since"];
  onHeaders(res, () => {
    for (const name of res.getHeaderNames()) if (CACHE_HEADER.test(name)) res.removeHeader(name);
    res.setHeader("Cache-Control", "private, no-store");
    addVary(res, "Cookie");
    // Listeners that were added before this one are called after it.
    const set = res.setHeader.bind(res);
    res.setHeader = (name, value) => (CACHE_HEADER.test(name) ? res : set(name, value));
  });
}

function addVary(res: ServerResponse, name: string): void {
  const names = [res.getHeader("Vary") ?? []].flat().join(", ");
  if (names === "") res.setHeader("Vary", name);
  else if (!names.split(/\s*,\s*/).some((known) => known === "*" || known.toLowerCase() === name.toLowerCase())) {
    res.setHeader("Vary", `${names}, ${name}`);
  }
}
