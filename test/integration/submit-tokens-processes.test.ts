import { expect, onTestFinished, test } from "vitest";
import { Browser } from "../support/browser.js";
import { connect, freshDatabase } from "../support/clients.js";
import { DUPLICATE, submit, TOKEN_SECRET, tokenFor } from "../support/token-app.js";
import { startWorker } from "../support/worker-process.js";

const IS_THOROUGH = process.env["THOROUGH"] === "1";
const ROUNDS = IS_THOROUGH ? 100 : 20;
const POSTS = 50;

test(
  `C42, R-T4, R-T6: of ${POSTS} posts of one token over two processes exactly one passes, ${ROUNDS} rounds`,
  async () => {
    const database = await freshDatabase();
    const client = connect(database.port, { db: database.db }, "ioredis5");
    onTestFinished(() => client.disconnect());
    const start = () => startWorker("token-worker.ts", database, { SUBMIT_TOKEN_SECRET: TOKEN_SECRET });
    const devices = (await Promise.all([start(), start()])).map(({ base }) => new Browser(base));
    const [first, second] = devices;
    if (first === undefined || second === undefined) throw new Error("two processes were asked for");
    await tokenFor(first);
    for (const [name, value] of first.cookies) second.cookies.set(name, value);
    const winners = new Set<unknown>();
    for (let round = 0; round < ROUNDS; round += 1) {
      // The one that issues does not matter, and who comes first should differ.
      const order = round % 2 === 0 ? [first, second] : [second, first];
      const token = await tokenFor(order[round % 4 < 2 ? 0 : 1] ?? first);
      const sent = Array.from({ length: POSTS }, (_, index) => submit(order[index % 2] ?? first, token));
      const pages = await Promise.all(sent);
      const passed = pages.filter(({ status }) => status === 200);
      expect(passed).toHaveLength(1);
      winners.add(passed[0]?.json()["process"]);
      const refused = pages.filter(({ status }) => status !== 200);
      expect(refused).toHaveLength(POSTS - 1);
      for (const { status, text, headers } of refused) {
        expect([status, text, headers.get("content-length")]).toEqual([409, DUPLICATE, String(DUPLICATE.length)]);
        expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
      }
      expect(await client.get("handler:runs")).toBe(String(round + 1));
    }
    expect(winners.size, "both processes won some rounds").toBe(2);
  },
  IS_THOROUGH ? 180_000 : 60_000,
);
