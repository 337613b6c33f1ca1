import type { IncomingMessage, ServerResponse } from "node:http";
import onHeaders from "on-headers";

/** Response headers that speak to caches: of Node and Express, and those that some proxies prefer to `Cache-Control`. */
const CACHE_HEADER =
  /^(?:cache-control|etag|last-modified|expires|surrogate-control|x-accel-expires|(?:[a-z]+-)*cdn-cache-control)$/i;

const FORCED = Symbol.for("logout-everywhere.no-store");

/**
 * Makes sure that no cache keeps this response and that it is sent in full, whatever another handler says about caching: the
 * headers are set at the moment they are written, and stay so for whoever else listens to that moment. Conditional headers of the request are dropped, as a 304 would bring back
 * the page of an earlier response.
 */
export function forceNoStore(req: IncomingMessage, res: ServerResponse): void {
  delete req.headers["if-none-match"];
  delete req.headers["if-modified-since"];
  // Once, for a page with several tokens: a second listener would find the headers locked.
  if (FORCED in res) return;
  Object.defineProperty(res, FORCED, { value: true });
  onHeaders(res, () => {
    for (const name of res.getHeaderNames()) if (CACHE_HEADER.test(name)) res.removeHeader(name);
    res.setHeader("Cache-Control", "private, no-store");
    addVary(res, "Cookie");
    lockCacheHeaders(res);
  });
}

/** Listeners that were added before ours are called after it. */
function lockCacheHeaders(res: ServerResponse): void {
  for (const method of ["setHeader", "appendHeader", "removeHeader"] as const) {
    const change = res[method].bind(res) as (name: string, ...values: unknown[]) => unknown;
    const guarded = (name: string, ...values: unknown[]): unknown =>
      CACHE_HEADER.test(name) ? res : change(name, ...values);
    res[method] = guarded as never;
  }
}

function addVary(res: ServerResponse, name: string): void {
  const names = [res.getHeader("Vary") ?? []].flat().join(", ");
  if (names === "") res.setHeader("Vary", name);
  else if (!names.split(/\s*,\s*/).some((known) => known === "*" || known.toLowerCase() === name.toLowerCase())) {
    res.setHeader("Vary", `${names}, ${name}`);
  }
}
