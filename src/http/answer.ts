import type { ServerResponse } from "node:http";

/** Answers with JSON that no cache keeps. */
export function answerJson(res: ServerResponse, status: number, body: object): void {
  answer(res, status, "application/json; charset=utf-8", JSON.stringify(body));
}

/** Answers with a page that no cache keeps. */
export function answerHtml(res: ServerResponse, status: number, page: string): void {
  answer(res, status, "text/html; charset=utf-8", page);
}

function answer(res: ServerResponse, status: number, type: string, text: string): void {
  res.statusCode = status;
  res.setHeader("Cache-Control", "private, no-store");
  res.setHeader("Content-Type", type);
  res.setHeader("Content-Length", Buffer.byteLength(text));
  res.end(text);
}
