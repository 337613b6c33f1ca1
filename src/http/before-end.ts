import type { ServerResponse } from "node:http";

type End = (...args: unknown[]) => ServerResponse;

/**
 * Runs a step when the handler ends the response, and lets the end leave only after it: what the step does has happened before
 * the client knows the answer. The status and headers are settled when the handler ends; a failure of the step changes nothing.
 */
export function beforeEnd(res: ServerResponse, step: () => Promise<unknown> | undefined): void {
  const end = res.end.bind(res) as End;
  let isEnding = false;
  res.end = ((...args: unknown[]): ServerResponse => {
    // As Node does: a second end says nothing more.
    if (isEnding) return res;
    isEnding = true;
    const running = step();
    if (running === undefined) return end(...args);
    settleHead(res, args);
    const finish = (): void => void end(...args);
    running.then(finish, finish);
    return res;
  }) as typeof res.end;
}

/** Fixes the headers now, so that whoever still acts after `end()` finds them sent, as without the delay. */
function settleHead(res: ServerResponse, [chunk, encoding]: readonly unknown[]): void {
  if (res.headersSent) return;
  const body = bodyLength(chunk, encoding);
  if (body !== undefined && !res.hasHeader("Content-Length") && !res.hasHeader("Transfer-Encoding")) {
    if (res.statusCode >= 200 && res.statusCode !== 204 && res.statusCode !== 304) {
      res.setHeader("Content-Length", body);
    }
  }
  res.writeHead(res.statusCode);
}

function bodyLength(chunk: unknown, encoding: unknown): number | undefined {
  if (typeof chunk === "string") return Buffer.byteLength(chunk, encoding as BufferEncoding | undefined);
  if (chunk instanceof Uint8Array) return chunk.byteLength;
  return chunk === undefined || chunk === null || typeof chunk === "function" ? 0 : undefined;
}
