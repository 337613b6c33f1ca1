import type { ServerResponse } from "node:http";
import { answerJson } from "../http/answer.js";
import { type StoredResponse, withReplayedMark } from "./stored-response.js";

/** Gives the first answer again, marked as a replay. */
export function replay(res: ServerResponse, { status, headers, body }: StoredResponse): void {
  res.setHeader("Idempotency-Replayed", "true");
  if (body !== undefined) {
    giveAgain(res, { status, headers, body });
    return;
  }
  const location = headerOf(headers, "Location");
  if (location !== "") res.setHeader("Location", location);
  answerJson(res, 409, { error: "response_not_replayable", status });
}

function giveAgain(res: ServerResponse, { status, headers, body }: StoredResponse & { readonly body: Buffer }): void {
  const marked = isJsonAnswer(headers) ? withReplayedMark(body) : undefined;
  const sent = marked ?? body;
  res.statusCode = status;
  for (const [name, values] of headers) {
    // A validator speaks of the text before the mark.
    if (marked !== undefined && (name === "ETag" || name === "Last-Modified")) continue;
    const [first = ""] = values;
    res.setHeader(name, values.length === 1 ? first : [...values]);
  }
  res.setHeader("Cache-Control", "private, no-store");
  if (status !== 204 && status !== 304) res.setHeader("Content-Length", sent.byteLength);
  res.end(sent.byteLength === 0 ? undefined : sent);
}

function isJsonAnswer(headers: StoredResponse["headers"]): boolean {
  const isJson = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(headerOf(headers, "Content-Type"));
  return isJson && headerOf(headers, "Content-Encoding") === "";
}

function headerOf(headers: StoredResponse["headers"], wanted: string): string {
  return headers.find(([name]) => name === wanted)?.[1][0] ?? "";
}
