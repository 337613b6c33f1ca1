import type { IncomingMessage } from "node:http";

/**
 * True if the browser says that another site (or another origin of this site) caused the request. `Sec-Fetch-Site` decides
 * where the browser sends it (W3C Fetch Metadata), else `Origin` against `Host`. Clients that send neither are no browsers and
 * cannot be tricked into a request.
 */
export function isCrossSite(req: IncomingMessage): boolean {
  const site = req.headers["sec-fetch-site"];
  if (site !== undefined) return site !== "same-origin" && site !== "none";
  const { origin } = req.headers;
  if (origin === undefined) return false;
  try {
    return new URL(origin).host !== expectedHost(req);
  } catch {
    // "null", as sandboxed and redirected requests send it, or nonsense.
    return true;
  }
}

function expectedHost(req: IncomingMessage): string | undefined {
  // Express knows about trusted proxies; `host` there is "name" in Express 4 and "name:port" in Express 5.
  const { hostname } = req as { readonly hostname?: unknown };
  const { host } = req.headers;
  if (typeof hostname !== "string" || host === undefined) return host;
  return host.replace(/^(?:\[[^\]]*\]|[^:]*)/, hostname);
}
