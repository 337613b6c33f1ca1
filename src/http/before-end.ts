import type { ServerResponse } from "node:http";

type End = (...args: unknown[]) => ServerResponse;

/** What is to happen before a response's end leaves. */
export interface EndStep {
  /** Asked when the handler ends the response: its status is settled by then. */
  readonly isNeeded: () => boolean;
  /** Gets what the handler gave to `end()`. A failure changes nothing for the client. */
  readonly run: (lastChunk: Buffer | undefined) => Promise<unknown>;
}

/**
 * Runs a step when the handler ends the response, and lets the end leave only after it: what the step does has happened before
 * the client knows the answer. Status and headers are fixed when the handler ends.
 */
export function beforeEnd(res: ServerResponse, step: EndStep): void {
  const end = res.end.bind(res) as End;
  let isEnding = false;
  res.end = ((...args: unknown[]): ServerResponse => {
    // As Node does: a second end says nothing more.
    if (isEnding) return res;
    // What is no chunk throws here and now, as without the delay: later nobody could catch it.
    if (!isChunk(args[0])) return end(...args);
    isEnding = true;
    try {
      return step.isNeeded() ? endAfter(res, step, end, args) : end(...args);
    } catch (error) {
      // Nothing was sent: whoever catches it is to give another answer.
      isEnding = false;
      throw error;
    }
  }) as typeof res.end;
}

function endAfter(res: ServerResponse, step: EndStep, end: End, args: unknown[]): ServerResponse {
  const chunk = toBuffer(args[0], args[1]);
  settleHead(res, chunk);
  const { write } = res;
  // What comes after the end is not part of the answer; let through, it would get in before the last piece.
  res.write = () => false;
  const finish = (): void => {
    res.write = write;
    end(...args);
  };
  step.run(chunk).then(finish, finish);
  return res;
}

/** True for what `end()` takes as its first argument. */
function isChunk(value: unknown): boolean {
  return value == null || typeof value === "string" || typeof value === "function" || value instanceof Uint8Array;
}

/** A chunk as given to `write()` or `end()`; `undefined` for none. */
export function toBuffer(chunk: unknown, encoding: unknown): Buffer | undefined {
  if (typeof chunk === "string") {
    return Buffer.from(chunk, typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8");
  }
  return chunk instanceof Uint8Array ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength) : undefined;
}

/** Fixes the headers now, so that whoever still acts after `end()` finds them sent, as without the delay. */
function settleHead(res: ServerResponse, chunk: Buffer | undefined): void {
  if (res.headersSent) return;
  const mayHaveBody = res.statusCode >= 200 && res.statusCode !== 204 && res.statusCode !== 304;
  const isFramed = ["Content-Length", "Transfer-Encoding", "Trailer"].some((name) => res.hasHeader(name));
  const isOurs = mayHaveBody && !isFramed;
  if (isOurs) res.setHeader("Content-Length", chunk?.byteLength ?? 0);
  try {
    res.writeHead(res.statusCode);
  } catch (error) {
    // Not the length of the answer that is given in place of this one.
    if (isOurs && !res.headersSent) res.removeHeader("Content-Length");
    throw error;
  }
}
