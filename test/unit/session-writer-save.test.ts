import { expect, test } from "vitest";
import { foreignBinding, newBinding } from "../../src/session/session-binding.js";
import {
  asBob,
  BOB,
  LIFETIME_MS,
  loaded,
  MIRA,
  nobody,
  PlayedWriter,
  payloadOf,
  snapshot,
} from "../support/played-writer.js";

const AT = "1700000000000";
const written = (at = ""): object => ({ kind: "written", at });
const quoted = JSON.stringify;

test("G5: a new session is inserted under a nonce of its own, the same when it is tried again", async () => {
  const { writer, redis, ...played } = new PlayedWriter();
  const binding = newBinding("a");
  redis.replies["insert-record"] = new Error("lost");
  await expect(writer.save("a", binding, snapshot(), nobody)).rejects.toThrow("lost");
  expect([binding.kind, binding.head, played.recent.wasExtended("a", 0, 0, Infinity)]).toEqual(["new", "", false]);
  redis.replies["insert-record"] = written();
  expect(await writer.save("a", binding, snapshot(), nobody)).toBe("written");
  const head = `,,n=${binding.nonce},`;
  const asked = `insert-record session:a ${quoted(head)} "" ${quoted(payloadOf())} "11000"`;
  expect(redis.asked).toEqual([asked, asked]);
  expect(binding).toMatchObject({ kind: "loaded", head, bare: false, login: undefined, payload: payloadOf() });
});

test("G5: what was inserted needs no touch for a while", async () => {
  const played = new PlayedWriter();
  played.redis.replies["insert-record"] = written();
  const binding = newBinding("a");
  await played.writer.save("a", binding, snapshot(), nobody);
  expect([played.hasNoted(), played.hasNoted(LIFETIME_MS + 1)]).toEqual([true, false]);
  expect(await played.writer.save("a", binding, snapshot(), nobody)).toBe("extended");
  expect([played.redis.asked.length, played.extended]).toEqual([1, []]);
});

test("G5: an insert under an ID in use is fenced, and so are later saves of the object", async () => {
  const played = new PlayedWriter();
  const { writer, redis } = played;
  const binding = newBinding("a");
  redis.replies["insert-record"] = { kind: "taken" };
  redis.replies["save-records"] = ["0"];
  const saved = writer.save("a", binding, snapshot(), nobody);
  played.retired.retire("a");
  expect([await saved, played.hasNoted()]).toEqual(["fenced", false]);
  expect(await writer.save("a", binding, snapshot(payloadOf({ cart: 2 })), nobody)).toBe("fenced");
  expect(redis.asked.map((line) => line.split(" ")[0])).toEqual(["insert-record", "save-records"]);
  expect(redis.asked[1]).toContain(` ${quoted(`,,n=${binding.nonce},`)} `);
});

test("G5: a session whose cookie is over is not inserted", async () => {
  const { writer, redis } = new PlayedWriter();
  const binding = newBinding("a");
  expect(await writer.save("a", binding, snapshot(payloadOf(), { lifetimeMs: 0 }), nobody)).toBe("removed");
  expect([redis.asked, binding.kind]).toEqual([[], "new"]);
});

test("G5: an insert whose ID was retired meanwhile is taken back", async () => {
  const { writer, redis, retired } = new PlayedWriter();
  redis.replies["insert-record"] = written();
  retired.retire("a");
  const before = newBinding("a");
  expect(await writer.save("a", before, snapshot(), nobody)).toBe("written");
  const binding = newBinding("a");
  const saved = writer.save("a", binding, snapshot(), nobody);
  retired.retire("a");
  expect(await saved).toBe("fenced");
  expect(redis.asked.slice(2)).toEqual([`delete-record session:a ${quoted(`,,n=${binding.nonce},`)} ""`]);
});

test("G12: a user who appears in a new session is stamped, and the stamp confirmed", async () => {
  const { writer, redis, confirmed } = new PlayedWriter(5_000);
  redis.replies["insert-record"] = written(AT);
  const binding = newBinding("a");
  expect(await writer.save("a", binding, snapshot(payloadOf(), { dataUser: "bob" }), asBob)).toBe("written");
  expect(redis.asked).toEqual([`insert-record session:a "bob,3,at=" ";n=abc," ${quoted(payloadOf())} "5000"`]);
  expect(confirmed).toEqual(["bob 3"]);
  expect(binding).toMatchObject({
    head: `bob,3,at=${AT};n=abc,`,
    login: { ...BOB.login, at: Number(AT) },
    dataUser: "bob",
  });
});

test("G4: an inherited stamp is confirmed by nobody", async () => {
  const { writer, redis, confirmed } = new PlayedWriter();
  redis.replies["insert-record"] = written();
  const stamp = { head: { before: "mira,7,n=abc,", after: "" }, login: MIRA, confirm: false };
  const binding = newBinding("a");
  const saved = writer.save("a", binding, snapshot(payloadOf(), { dataUser: "mira" }), async () => stamp);
  expect([await saved, confirmed, binding.login]).toEqual(["written", [], MIRA]);
});

test("G4: a user whose login has ended is not stamped, and nothing is written", async () => {
  const { writer, redis } = new PlayedWriter();
  for (const binding of [newBinding("a"), loaded()]) {
    const saved = writer.save("a", binding, snapshot(payloadOf(), { dataUser: "other" }), asBob);
    expect(await saved).toBe("superseded");
  }
  expect(redis.asked).toEqual([]);
});

test("G6: a login that a logout overtook is taken back, also while its ID is retired", async () => {
  const played = new PlayedWriter();
  const { writer, redis, retired } = played;
  played.holds = false;
  redis.replies["insert-record"] = written(AT);
  redis.replies["update-record"] = written(AT);
  const given = snapshot(payloadOf(), { dataUser: "bob" });
  const saved = writer.save("a", newBinding("a"), given, asBob);
  retired.retire("a");
  expect(await saved).toBe("superseded");
  expect(await writer.save("b", loaded({ bare: true, head: "mira,7" }), given, asBob)).toBe("superseded");
  const taken = (sid: string): string => `delete-record session:${sid} "bob,3,at=${AT};n=abc," ""`;
  expect(redis.asked.filter((line) => !/^(insert|update)/.test(line))).toEqual([taken("a"), taken("b")]);
});

test("G6: a new login of unknown fate is deleted in the background, and the object is fenced", async () => {
  const { writer, redis } = new PlayedWriter();
  redis.replies["insert-record"] = new Error("lost");
  redis.replies["save-records"] = ["0"];
  redis.deleteFailure = new Error("nobody waits for it");
  const binding = newBinding("a");
  const given = snapshot(payloadOf(), { dataUser: "bob" });
  await expect(writer.save("a", binding, given, asBob)).rejects.toThrow("lost");
  expect(redis.asked[1]).toBe("delete session:a");
  expect(binding).toMatchObject({ kind: "loaded", head: "bob,3,at=;n=abc,", login: undefined, dataUser: "bob" });
  expect(await writer.save("a", binding, { ...given, payload: payloadOf({ cart: 2 }) }, nobody)).toBe("fenced");
});

test("G6: a stamp of unknown fate that is not a new login is not deleted", async () => {
  const { writer, redis } = new PlayedWriter();
  redis.replies["insert-record"] = new Error("lost");
  const stamp = { head: { before: "mira,7,n=abc,", after: "" }, login: MIRA, confirm: false };
  const saved = writer.save("a", newBinding("a"), snapshot(payloadOf(), { dataUser: "mira" }), async () => stamp);
  await expect(saved).rejects.toThrow("lost");
  expect(redis.asked.length).toBe(1);
});

test("G5: a save replaces the record it was loaded from, and keeps its head", async () => {
  const played = new PlayedWriter();
  const { writer, redis } = played;
  redis.replies["save-records"] = ["1"];
  const binding = loaded();
  const payload = payloadOf({ cart: 2 });
  expect(await writer.save("a", binding, snapshot(payload), nobody)).toBe("written");
  const head = quoted("mira,7,n=xyz,");
  expect(redis.asked).toEqual([`save-records session:a ${head} ${quoted(`mira,7,n=xyz,${payload}`)} "11000"`]);
  expect(binding).toMatchObject({ kind: "loaded", head: "mira,7,n=xyz,", login: MIRA, payload });
  expect(played.hasNoted()).toBe(true);
});

test("G5: a save that finds the record fenced changes nothing here", async () => {
  const played = new PlayedWriter();
  played.redis.replies["save-records"] = ["0"];
  const binding = loaded();
  expect(await played.writer.save("a", binding, snapshot(payloadOf({ cart: 2 })), nobody)).toBe("fenced");
  expect([binding, played.hasNoted()]).toEqual([{ ...loaded(), tail: binding.tail }, false]);
});

test("G7: a refusal of one save is its own, and changes nothing here", async () => {
  const played = new PlayedWriter();
  played.redis.replies["save-records"] = ["1", "OOM command not allowed"];
  const [good, bad] = [loaded(), loaded()];
  const payload = payloadOf({ cart: 2 });
  const saves = [
    played.writer.save("a", good, snapshot(payload), nobody),
    played.writer.save("a", bad, snapshot(payload), nobody),
  ];
  expect(await saves[0]).toBe("written");
  await expect(saves[1]).rejects.toThrow("OOM command not allowed");
  expect([good.payload, bad.payload]).toEqual([payload, loaded().payload]);
});

test("G5: a bare record that is saved gets the other two parts", async () => {
  const { writer, redis } = new PlayedWriter();
  redis.replies["update-record"] = written();
  const binding = loaded({ head: "mira,7", bare: true, payload: undefined });
  await writer.save("a", binding, snapshot(), nobody);
  expect(redis.asked).toEqual([`update-record session:a "mira,7" "1" "mira,7,," "" ${quoted(payloadOf())} "11000" ""`]);
  expect([binding.head, binding.bare]).toEqual(["mira,7,,", false]);
});

test("G5: a save under a cookie that is over removes the record, whatever the data", async () => {
  const { writer, redis } = new PlayedWriter();
  redis.replies["update-record"] = { kind: "removed" };
  const { payload = "" } = loaded();
  expect(await writer.save("a", loaded(), snapshot(payload, { lifetimeMs: 0 }), nobody)).toBe("removed");
  expect(redis.asked).toEqual([expect.stringMatching(/^update-record .* "0" ""$/)]);
});

test("G11: a save does not outlive the login's absolute end; a new login counts anew, an anonymous has none", async () => {
  const { writer, redis } = new PlayedWriter(5_000);
  redis.replies["update-record"] = written(AT);
  const other = { login: { ...MIRA, userText: "eve" }, dataUser: "eve" };
  await writer.save("a", loaded(), snapshot(payloadOf({ cart: 2 }), { dataUser: "mira" }), nobody);
  await writer.save("a", loaded(other), snapshot(payloadOf({ cart: 2 }), { dataUser: "bob" }), asBob);
  const loggedOut = loaded(other);
  await writer.save("a", loggedOut, snapshot(payloadOf({ cart: 2 })), nobody);
  expect(redis.asked.map((line) => line.split(" ").slice(-2).join(" "))).toEqual([
    '"11000" "9700000005000"',
    '"5000" ""',
    '"11000" ""',
  ]);
  expect(loggedOut).toMatchObject({ login: undefined, dataUser: undefined });
  expect(loggedOut.head).toMatch(/^,,n=[\w-]+,1700000000000$/);
});

test("G12: a user who appears or disappears is written even if the data reads the same", async () => {
  const { writer, redis, confirmed } = new PlayedWriter();
  redis.replies["update-record"] = written(AT);
  const { payload = "" } = loaded();
  const binding = loaded({ login: undefined, head: ",,n=xyz," });
  await writer.save("a", binding, snapshot(payload, { dataUser: "bob" }), asBob);
  expect(redis.asked).toEqual([
    `update-record session:a ",,n=xyz," "" "bob,3,at=" ";n=abc," ${quoted(payload)} "11000" ""`,
  ]);
  expect(confirmed).toEqual(["bob 3"]);
  expect(binding).toMatchObject({ head: `bob,3,at=${AT};n=abc,`, login: { ...BOB.login, at: Number(AT) } });
});

test("G12: no stamp for a user the head or the data named before, nor for nobody who was nobody", async () => {
  const { writer, redis } = new PlayedWriter();
  redis.replies["save-records"] = ["1"];
  const payload = payloadOf({ cart: 2 });
  const unchanged = [
    [loaded(), "mira"],
    [loaded({ dataUser: "eve" }), "eve"],
    [loaded({ dataUser: "eve", login: undefined }), undefined],
  ] as const;
  for (const [binding, dataUser] of unchanged) await writer.save("a", binding, snapshot(payload, { dataUser }), nobody);
  const heads = redis.asked.map((line) => line.split(" ")[2]);
  expect(heads).toEqual(Array(3).fill('"mira,7,n=xyz,"'));
});

test("G5: saves of one object run in order, whatever becomes of each", async () => {
  const { writer, redis } = new PlayedWriter();
  const answers = [gate(), gate()];
  let sent = 0;
  redis.replies["save-records"] = () => answers[sent++]?.answer;
  const binding = loaded();
  const first = writer.save("a", binding, snapshot(payloadOf({ cart: 2 })), nobody);
  const second = writer.save("a", binding, snapshot(payloadOf({ cart: 3 })), nobody);
  await new Promise(setImmediate);
  expect(sent).toBe(1);
  answers[0]?.fail(new Error("lost"));
  await expect(first).rejects.toThrow("lost");
  await new Promise(setImmediate);
  expect(sent).toBe(2);
  answers[1]?.open(["1"]);
  expect([await second, binding.payload]).toEqual(["written", payloadOf({ cart: 3 })]);
});

test("G5: data of unknown origin updates in place, under the head that is there", async () => {
  const { writer, redis } = new PlayedWriter();
  redis.replies["overwrite-payload"] = "written";
  expect(await writer.save("a", foreignBinding(), snapshot(payloadOf(), { dataUser: "bob" }), nobody)).toBe("written");
  expect(redis.asked).toEqual([
    expect.stringMatching(/^overwrite-payload session:a "\{.*\}" "11000" ",,n=[\w-]+," ""$/),
  ]);
});

function gate(): { answer: Promise<unknown>; open: (value: unknown) => void; fail: (error: Error) => void } {
  let open: (value: unknown) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const answer = new Promise<unknown>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { answer, open, fail };
}
