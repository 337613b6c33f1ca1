import { expect, test } from "vitest";
import type { Deadline } from "../../src/redis/deadline.js";
import { newSave, RecordSaver } from "../../src/session/record-saver.js";
import { PlayedConnection } from "../support/played-connection.js";

const at = (endsAtMs: number): Deadline => ({ endsAtMs }) as Deadline;

/** The keys of each command that was sent. */
async function sentFor(
  saves: readonly { key: string; payload?: string; endsAtMs?: number }[],
  isClustered = false,
): Promise<string[][]> {
  const redis = new PlayedConnection();
  Object.assign(redis, { isClustered });
  redis.replies["save-records"] = Array(200).fill("1");
  const saver = new RecordSaver(redis.asRedis);
  await Promise.all(
    saves.map(({ key, payload = "{}", endsAtMs = 2_000 }) =>
      saver.add(newSave(key, "head,", payload, "1000", at(endsAtMs))),
    ),
  );
  return redis.asked.map((line) => line.split(" ").filter((word) => word.startsWith("k")));
}

test("G5: saves of one moment share commands of at most 25", async () => {
  const keys = Array.from({ length: 60 }, (_, n) => ({ key: `k${n}` }));
  expect((await sentFor(keys)).map((batch) => batch.length)).toEqual([25, 25, 10]);
});

test("C40: large payloads do not share a command beyond a quarter of a million characters", async () => {
  const payload = "x".repeat(131_072);
  const keys = ["k1", "k2", "k3"].map((key) => ({ key, payload }));
  expect(await sentFor(keys)).toEqual([["k1", "k2"], ["k3"]]);
  expect(await sentFor([{ key: "k1", payload: "x".repeat(300_000) }, { key: "k2" }])).toEqual([["k1"], ["k2"]]);
});

test("G7: saves whose deadlines are apart do not share one", async () => {
  const near = [
    { key: "k1", endsAtMs: 2_000 },
    { key: "k2", endsAtMs: 1_950 },
    { key: "k3", endsAtMs: 1_949 },
    { key: "k4", endsAtMs: 2_000 },
  ];
  expect(await sentFor(near)).toEqual([["k1", "k2"], ["k3"], ["k4"]]);
});

test("G7: a shared command is sent under the earliest deadline", async () => {
  const redis = new PlayedConnection();
  const deadlines: unknown[] = [];
  redis.runOver = async (_script, keys, _args, deadline?: unknown): Promise<unknown> => {
    deadlines.push(deadline);
    return keys.map(() => "1");
  };
  const saver = new RecordSaver(redis.asRedis);
  const [late, early, later] = [at(2_000), at(1_990), at(2_010)];
  await Promise.all([late, early, later].map((deadline) => saver.add(newSave("k", "h,", "{}", "1", deadline))));
  expect(deadlines).toEqual([early]);
});

test("C25: on a cluster a command has one key", async () => {
  expect(await sentFor([{ key: "k1" }, { key: "k2" }], true)).toEqual([["k1"], ["k2"]]);
});

test("G7: what a command meets, each of its saves meets; a refusal or nonsense is one save's alone", async () => {
  const redis = new PlayedConnection();
  const saver = new RecordSaver(redis.asRedis);
  const save = (): ReturnType<typeof newSave> => newSave("k", "h,", "{}", "1", at(2_000));
  redis.replies["save-records"] = ["1", "0", "OOM full"];
  const four = [save(), save(), save(), save()];
  await Promise.all(four.map((each) => saver.add(each)));
  expect(four.slice(0, 2).map((each) => saver.isWritten(each))).toEqual([true, false]);
  expect(() => saver.isWritten(four[2] ?? save())).toThrow("OOM full");
  expect(() => saver.isWritten(four[3] ?? save())).toThrow(Error);
  const failure = new Error("lost");
  redis.replies["save-records"] = failure;
  const lost = [save(), save()];
  await Promise.all(lost.map((each) => saver.add(each)));
  expect(lost.map((each) => each.reply)).toEqual([{ error: failure }, { error: failure }]);
  for (const each of lost) expect(() => saver.isWritten(each)).toThrow(failure);
});
