import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { expect } from "vitest";
import { Browser } from "./browser.js";
import { type ExampleApp, freshRedisUrl, startExampleApp } from "./example-app.js";
import { cookieOf, expectPlainError, PAYMENT, pay, paymentsOf } from "./payments.js";

const SECRETS = {
  SESSION_SECRET: "the secret of this test",
  SUBMIT_TOKEN_SECRET: "a secret of this test, long enough: 0123456789abc",
};

/** Two processes of one shop, and Alice, who is signed in. */
export interface AttackedShop {
  readonly shop: ExampleApp;
  readonly twin: ExampleApp;
  readonly alice: Browser;
  /** Alice's browser, talking to the other process. */
  onTwin(): Browser;
  /** The names of what is in Redis, sorted. */
  keysOf(pattern: string): Promise<string[]>;
  /** Sends each payment under a key of its own: all are refused for this member, and nothing is paid or claimed. */
  expectRefused(member: string, bodies: readonly unknown[]): Promise<void>;
  /** Alice's payment as it goes over the wire, with these lines as its key. */
  rawPayment(keyLines: string): string;
  stop(): Promise<void>;
}

export async function attackedShop(): Promise<AttackedShop> {
  const { url, port, db } = await freshRedisUrl();
  const redis = new Redis({ port, db });
  const settings = { ...SECRETS, REDIS_URL: url, ORDER_DELAY_MS: "50" };
  const [shop, twin] = [await startExampleApp(settings), await startExampleApp(settings)];
  const alice = await shop.signedIn("alice");
  const keysOf = async (pattern: string): Promise<string[]> => (await redis.keys(pattern)).sort();
  return {
    shop,
    twin,
    alice,
    keysOf,
    onTwin: () => {
      const device = new Browser(twin.base);
      for (const [name, value] of alice.cookies) device.cookies.set(name, value);
      return device;
    },
    expectRefused: async (member, bodies) => {
      const [paid, claimed] = [await paymentsOf(alice), await keysOf("idempotency:*")];
      for (const body of bodies) {
        const answer = await pay(shop, alice, randomUUID(), body);
        expectPlainError(answer, 422, `${member}_invalid`);
      }
      expect(await paymentsOf(alice)).toEqual(paid);
      expect(await keysOf("idempotency:*")).toEqual(claimed);
    },
    rawPayment: (keyLines) => {
      const body = JSON.stringify(PAYMENT);
      return `POST /payments HTTP/1.1\r\nHost: shop\r\nConnection: close\r\nCookie: ${cookieOf(alice)}\r\nContent-Type: application/json\r\n${keyLines}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    },
    stop: async () => {
      redis.disconnect();
      await Promise.all([shop.stop(), twin.stop()]);
    },
  };
}

/** JSON texts of payments whose member has these values, written as they are. */
export function withMember(name: "amount" | "quantity", values: readonly string[]): string[] {
  const rest = name === "amount" ? "" : '"amount":1250,';
  return values.map((value) => `{${rest}"currency":"EUR","${name}":${value}}`);
}
