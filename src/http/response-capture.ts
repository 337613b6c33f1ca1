import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import onHeaders from "on-headers";
import { toBuffer } from "./before-end.js";

type Write = (chunk: unknown, ...rest: unknown[]) => boolean;

/**
 * Keeps a copy of what a handler answers, however it does: what it writes goes out at once, with the stream's own back-pressure, and
 * no more than `maxBytes` of it are kept.
 */
export class ResponseCapture {
  readonly #res: ServerResponse;
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #isTooLarge = false;
  #headers: OutgoingHttpHeaders | undefined;

  constructor(res: ServerResponse, maxBytes: number) {
    this.#res = res;
    this.#maxBytes = maxBytes;
    // Later than what the handler sets, earlier than what compression and the session add.
    onHeaders(res, () => {
      this.#headers = { ...res.getHeaders() };
    });
    const write = res.write.bind(res) as Write;
    res.write = ((chunk: unknown, ...rest: unknown[]): boolean => {
      this.#note(toBuffer(chunk, rest[0]));
      return write(chunk, ...rest);
    }) as typeof res.write;
  }

  /** The headers as they were written. */
  get headers(): OutgoingHttpHeaders {
    return this.#headers ?? this.#res.getHeaders();
  }

  /** The whole body with what came last; `undefined` if it is too large or has no end by nature. */
  body(lastChunk: Buffer | undefined): Buffer | undefined {
    this.#note(lastChunk);
    const isEventStream = String(this.headers["content-type"] ?? "").startsWith("text/event-stream");
    return this.#isTooLarge || isEventStream ? undefined : Buffer.concat(this.#chunks);
  }

  #note(chunk: Buffer | undefined): void {
    if (chunk === undefined || this.#isTooLarge) return;
    this.#bytes += chunk.byteLength;
    this.#isTooLarge = this.#bytes > this.#maxBytes;
    if (this.#isTooLarge) this.#chunks = [];
    // A copy: the handler may use its buffer again.
    else this.#chunks.push(Buffer.from(chunk));
  }
}
