import { connect } from "node:net";
import { expect } from "vitest";
import type { Browser } from "./browser.js";

/** What the example shop answers to a payment, or says of it. */
export interface Payment {
  readonly id: string;
  readonly amount: number;
  readonly currency: string;
  readonly quantity: number;
  readonly note: string;
  readonly createdAt: string;
  readonly replayed?: true;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
}

/** What the library, Redis, Node or a parser would say. */
export const INTERNALS =
  /ERR_|Redis|ECONN|EVAL|Lua|127\.0\.0\.1|node_modules|\.js\b|file:|SyntaxError|TypeError|Unexpected token|at \w+ \(/;
export const PAYMENT = { amount: 1250, currency: "EUR" };

/** The cookie header of a browser. */
export function cookieOf({ cookies }: Browser): string {
  return [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
}

/** Sends a payment as a script does; a `body` that is text is sent as it is. */
export async function pay(
  { base }: { readonly base: string },
  device: Browser,
  key: string | undefined,
  body: unknown = PAYMENT,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const response = await fetch(new URL("/payments", base), {
    method: "POST",
    headers: {
      cookie: cookieOf(device),
      "content-type": "application/json",
      ...(key === undefined ? {} : { "idempotency-key": key }),
      ...headers,
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) };
}

/** All payments of this user in this process, the newest first: each run of the handler makes one. */
export async function paymentsOf(device: Browser): Promise<Payment[]> {
  const { payments } = (await device.get("/payments")).json<{ payments: Payment[] }>();
  return payments;
}

/** Sends bytes that no HTTP client would, and answers all that comes back until the connection ends. */
export async function sendRaw(base: string, text: string): Promise<string> {
  const { hostname, port } = new URL(base);
  const socket = connect(Number(port), hostname);
  let answer = "";
  socket.setEncoding("latin1").on("data", (chunk) => {
    answer += String(chunk);
  });
  socket.write(text, "latin1");
  // A server that has refused does not read the rest, and hangs up.
  await new Promise((closed) => socket.on("error", () => undefined).once("close", closed));
  return answer;
}

/** An error as a script may get it: JSON that no browser takes for a page, and nothing of how the shop works. */
export function expectPlainError({ status, headers, text, json }: Answer, expected: number, error?: string): void {
  expect([status, text]).toEqual([expected, expect.any(String)]);
  expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect([headers.get("x-content-type-options"), headers.get("cache-control")]).toEqual([
    "nosniff",
    "private, no-store",
  ]);
  expect(text).not.toMatch(INTERNALS);
  expect(Object.keys(json)[0]).toBe("error");
  if (error !== undefined) expect(json["error"]).toBe(error);
}
