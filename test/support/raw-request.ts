import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, type RequestOptions, request } from "node:http";
import { buffer } from "node:stream/consumers";

/** A response as it came, byte by byte. */
export interface RawPage {
  readonly status: number;
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

/** Begins a request with headers that fetch would not send; the body is the caller's to write. */
export function begin(url: string, options: RequestOptions): ClientRequest {
  const sent = request(url, { agent: false, ...options });
  sent.on("error", () => undefined);
  return sent;
}

/** Sends a request with headers that fetch would not send: several lines of one name, bytes beyond ASCII. */
export async function rawRequest(
  url: string,
  { body, ...options }: RequestOptions & { readonly body?: string | Uint8Array },
): Promise<RawPage> {
  const sent = begin(url, options);
  // Node sends the length of a body by itself, but not with every method.
  if (body !== undefined) sent.setHeader("Content-Length", Buffer.byteLength(body));
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const { statusCode = 0, rawHeaders, headers } = response;
  return { status: statusCode, rawHeaders, headers, body: await buffer(response) };
}

/** The values of all header lines of this name. */
export function linesOf({ rawHeaders }: RawPage, name: string): string[] {
  return rawHeaders.filter((_text, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name.toLowerCase());
}
