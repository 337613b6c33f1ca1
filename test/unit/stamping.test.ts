import { expect, test } from "vitest";
import { Generations } from "../../src/session/generations.js";
import { requestState } from "../../src/session/request-state.js";
import { stampFor } from "../../src/session/stamping.js";
import { PlayedConnection } from "../support/played-connection.js";

const HELD = { userId: "mira", userText: "mira", generation: "5", at: 1_700_000_000_000 };

function played(): { redis: PlayedConnection; stamp: (state?: object) => ReturnType<typeof stampFor> } {
  const redis = new PlayedConnection();
  redis.replies["ensure-generation"] = "9";
  const generations = new Generations(redis.asRedis, "user:", 1_000);
  const deadline = redis.asRedis.deadline();
  return {
    redis,
    stamp: (req) => stampFor(generations, req === undefined ? undefined : requestState(req), "mira", deadline),
  };
}

const fresh = (generation: string): object => ({
  head: { before: `mira,${generation},at=`, after: expect.stringMatching(/^;n=[\w-]+,$/) },
  login: { userId: "mira", userText: "mira", generation, at: undefined },
  confirm: true,
});

test("G4: a user who was not there before is a new login under the current generation", async () => {
  const { redis, stamp } = played();
  expect([await stamp(), await stamp({})]).toEqual([fresh("9"), fresh("9")]);
  expect(redis.asked).toHaveLength(2);
});

test("G4: a login the request came with goes on under its own generation and time, unasked", async () => {
  const { redis, stamp } = played();
  const req = {};
  requestState(req).held.set("mira", HELD);
  const before = expect.stringMatching(/^mira,5,at=1700000000000;n=[\w-]+,$/);
  expect(await stamp(req)).toEqual({ head: { before, after: "" }, login: HELD, confirm: false });
  expect(redis.asked).toEqual([]);
});

test("G4: a login that ended under the request is not renewed, unless the request has begun one of its own", async () => {
  const { redis, stamp } = played();
  const req = {};
  requestState(req).held.set("mira", "ended");
  expect(await stamp(req)).toBe("ended");
  requestState(req).attempts.set("mira", "8");
  expect(await stamp(req)).toEqual(fresh("8"));
  requestState(req).held.set("mira", HELD);
  expect(await stamp(req)).toEqual(fresh("8"));
  expect(redis.asked).toEqual([]);
});
