import { expect, test } from "vitest";
import { isCurrentLogin } from "../../src/session/current-login.js";
import { Generations } from "../../src/session/generations.js";
import { bindData, newBinding } from "../../src/session/session-binding.js";
import { PlayedConnection } from "../support/played-connection.js";

function bound(login: { userText: string; generation: string } | undefined): object {
  const data = {};
  const stored = login === undefined ? undefined : { ...login, userId: login.userText, at: undefined };
  bindData(data, { ...newBinding("sid"), login: stored });
  return data;
}

/** Asks on a store where `user:mira` is 7 and every session ID leads to `loaded`. */
function ask(target: unknown, loaded: object | null = null): Promise<boolean> {
  const redis = new PlayedConnection();
  redis.values.set("user:mira", "7");
  const generations = new Generations(redis.asRedis, "user:", 1_000);
  const loader = { load: async () => ({ data: loaded, reason: undefined }) };
  return isCurrentLogin({ generations, loader: loader as never }, target as never);
}

test.each([
  ["current", { userId: "mira", generation: "7" }, true],
  ["older", { userId: "mira", generation: "6" }, false],
  ["no text", { userId: "mira", generation: 7 }, false],
  ["of a user without counter", { userId: "tom", generation: "7" }, false],
  ["without a generation of a user without counter", { userId: "tom", generation: undefined }, false],
])("isCurrent: a stamp that is %s", async (_what, stamp, expected) => {
  expect(await ask(stamp)).toBe(expected);
});

const MIRA = { userText: "mira", generation: "7" };

test.each([
  ["as it was", bound(MIRA), bound(MIRA), true],
  ["gone", bound(MIRA), null, false],
  ["another user's", bound(MIRA), bound({ ...MIRA, userText: "tom" }), false],
  ["under another generation", bound(MIRA), bound({ ...MIRA, generation: "8" }), false],
  ["anonymous now", bound(MIRA), bound(undefined), false],
  ["of unknown origin now", bound(MIRA), {}, false],
  ["anonymous, then a login", bound(undefined), bound(MIRA), false],
  ["anonymous before and now", bound(undefined), bound(undefined), false],
  ["not of this store", {}, bound(MIRA), false],
  ["missing", undefined, bound(MIRA), false],
  ["null", null, bound(MIRA), false],
  ["no object", "session", bound(MIRA), false],
])("isCurrent: a request whose session is %s", async (_what, session, loaded, expected) => {
  expect(await ask({ session, sessionID: "sid" }, loaded)).toBe(expected);
});

test("isCurrent: a request whose session ID is retired is not logged in", async () => {
  expect(await ask({ session: bound(MIRA), sessionID: undefined }, bound(MIRA))).toBe(false);
  expect(await ask({ session: bound(MIRA), userId: "mira" }, bound(MIRA))).toBe(false);
  expect(await ask({ session: bound(MIRA), sessionID: "sid", generation: "7" }, bound(MIRA))).toBe(true);
});

test.each([
  [undefined, "undefined"],
  [null, "null"],
  ["sid", "a string"],
])("misuse: isCurrent(%j)", async (target, got) => {
  const message = `isCurrent: expected a request or { userId, generation }, got ${got}`;
  await expect(ask(target)).rejects.toMatchObject({ code: "ERR_INVALID_ARG_TYPE", message });
  await expect(ask({ userId: "", generation: "7" })).rejects.toThrow(/^isCurrent: expected a user ID/);
});
