import { expect, test } from "vitest";
import { Generations } from "../../src/session/generations.js";
import { RANDOM_RANGE } from "../../src/session/scripts/raise-generation.js";
import { PlayedConnection } from "../support/played-connection.js";

function played(): { redis: PlayedConnection; generations: Generations } {
  const redis = new PlayedConnection();
  return { redis, generations: new Generations(redis.asRedis, "user:", 5_000) };
}

test("G3: only a usable counter is a generation", async () => {
  const { redis, generations } = played();
  expect(await generations.current("mira")).toBeUndefined();
  redis.values.set("user:mira", "07");
  expect(await generations.current("mira")).toBeUndefined();
  redis.values.set("user:mira", "7");
  expect(await generations.current("mira")).toBe("7");
  expect([generations.keyOf("mira"), redis.asked[0]]).toEqual(["user:mira", "mget user:mira"]);
});

test("G6: a generation is seeded, and confirmed, with the arguments of the scripts", async () => {
  const { redis, generations } = played();
  redis.replies["ensure-generation"] = "7";
  redis.replies["confirm-generation"] = true;
  expect([await generations.ensure("mira"), await generations.confirm("mira", "7")]).toEqual(["7", true]);
  expect(redis.asked).toEqual(['ensure-generation user:mira "5000"', 'confirm-generation user:mira "7"']);
});

test("G2: a raise brings random bits, and the generation it demands or none", async () => {
  const { redis, generations } = played();
  redis.replies["raise-generation"] = { kind: "superseded" };
  expect(await generations.raise("mira")).toEqual({ kind: "superseded" });
  await generations.raise("mira", "7");
  const random = redis.asked.map((command) => /^raise-generation user:mira "(\d+)" "5000" "(7?)"$/.exec(command));
  expect(random.map((match) => match?.[2])).toEqual(["", "7"]);
  expect(Number(random[0]?.[1])).toBeLessThan(RANDOM_RANGE);
  expect(random[0]?.[1]).not.toBe(random[1]?.[1]);
});

test.each([
  ["raised", true, true],
  ["rewritten", false, true],
  ["unchanged", false, false],
])("G8: what the script answers, %s, means: had to be restored %s, stands now %s", async (reply, restored, stands) => {
  const { redis, generations } = played();
  const other = new PlayedConnection();
  redis.replies["restore-generation"] = reply;
  other.replies["restore-generation"] = reply;
  expect(await generations.restore("mira", "7")).toBe(restored);
  expect(await generations.rewrite("mira", "7", other.asRedis)).toBe(stands);
  expect(redis.asked).toEqual(['restore-generation user:mira "7" ""']);
  expect(other.asked).toEqual(['restore-generation user:mira "7" "1"']);
});
