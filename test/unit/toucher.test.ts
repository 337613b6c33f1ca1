import { expect, test } from "vitest";
import { SessionToucher } from "../../src/session/toucher.js";
import { PlayedConnection } from "../support/played-connection.js";

function extend(toucher: SessionToucher, count: number): Promise<PromiseSettledResult<void>[]> {
  return Promise.allSettled(
    Array.from({ length: count }, (_, index) => toucher.extend({ key: `session:${index}`, ttlMs: 1_000 })),
  );
}

test("C21: all touches of one moment share round trips of at most 500", async () => {
  const redis = new PlayedConnection();
  const toucher = new SessionToucher(redis.asRedis);
  await extend(toucher, 1_001);
  expect(redis.asked).toEqual(["extend 500", "extend 500", "extend 1"]);
  await extend(toucher, 2);
  await extend(toucher, 500);
  await extend(toucher, 1);
  expect(redis.asked.slice(3)).toEqual(["extend 2", "extend 500", "extend 1"]);
});

test("G7: a touch that fails fails for those it was sent for", async () => {
  const redis = new PlayedConnection();
  redis.failing = { after: 1 };
  const settled = await extend(new SessionToucher(redis.asRedis), 501);
  expect(settled.map(({ status }) => status)).toEqual([...Array(500).fill("fulfilled"), "rejected"]);
});

test("C21: a touch that is alone is sent as well", async () => {
  const redis = new PlayedConnection();
  await extend(new SessionToucher(redis.asRedis), 1);
  expect(redis.asked).toEqual(["extend 1"]);
});
