import { expect, test } from "vitest";
import { foreignBinding, newBinding, type SessionBinding } from "../../src/session/session-binding.js";
import { LIFETIME_MS, loaded, MIRA, nobody, PlayedWriter, payloadOf, snapshot } from "../support/played-writer.js";

const quoted = JSON.stringify;
const COOKIE = { path: "/shop" };
/** "Remember me": another cookie for the same data. */
const CHANGED = { path: "/other" };
const EXTENSION = { key: "session:a", ttlMs: 11_000 };
const prefixOf = (cookie: object): string => `{"cookie":${quoted(cookie)}`;

test("C21: a touch extends the record's life, once per interval", async () => {
  const { writer, redis, extended } = new PlayedWriter();
  const binding = loaded();
  expect(await writer.touch("a", binding, COOKIE, LIFETIME_MS)).toBe("extended");
  expect(await writer.touch("a", binding, COOKIE, LIFETIME_MS)).toBe("extended");
  expect([extended, redis.asked]).toEqual([[EXTENSION], []]);
  await writer.touch("a", binding, COOKIE, LIFETIME_MS + 1_000);
  expect(extended.length).toBe(2);
});

test("G5: a save of what is stored already is a touch", async () => {
  const { writer, redis, extended } = new PlayedWriter();
  const binding = loaded();
  expect(await writer.save("a", binding, snapshot(binding.payload), nobody)).toBe("extended");
  expect([extended, redis.asked]).toEqual([[EXTENSION], []]);
});

test("G11: a touch does not extend a login beyond its absolute end, nor one of an unknown time", async () => {
  const { writer, extended } = new PlayedWriter(5_000);
  const old = loaded({ login: { ...MIRA, at: Date.now() } });
  await writer.touch("a", old, COOKIE, LIFETIME_MS);
  expect(extended).toEqual([{ ...EXTENSION, notAfterMs: Number(old.login?.at) + 5_000 }]);
  const unknown = loaded({ login: { ...MIRA, at: undefined } });
  expect(await writer.touch("b", unknown, COOKIE, LIFETIME_MS)).toBe("extended");
  expect(extended.length).toBe(1);
});

test("G5: nothing is asked for a session that was never stored", async () => {
  const { writer, redis, extended } = new PlayedWriter();
  for (const lifetimeMs of [0, LIFETIME_MS]) {
    expect(await writer.touch("a", newBinding("a"), COOKIE, lifetimeMs)).toBe("extended");
  }
  expect(await writer.remove("a", newBinding("a"))).toBe("removed");
  expect([redis.asked, extended]).toEqual([[], []]);
});

test.each<[SessionBinding, string]>([
  [loaded(), 'delete-record session:a "mira,7,n=xyz," ""'],
  [loaded({ head: "mira,7", bare: true, payload: undefined }), 'delete-record session:a "mira,7" "1"'],
  [foreignBinding(), "delete session:a"],
])("G5: a touch under a cookie that is over removes the record it knows (%#)", async (binding, asked) => {
  const { writer, redis } = new PlayedWriter();
  expect(await writer.touch("a", binding, COOKIE, 0)).toBe("removed");
  expect(redis.asked).toEqual([asked]);
});

test("G5: a bare record lives as its writer said until a cookie says otherwise", async () => {
  const { writer, extended } = new PlayedWriter();
  const bare = loaded({ head: "mira,7", bare: true, payload: undefined });
  expect(await writer.touch("a", bare, COOKIE, LIFETIME_MS)).toBe("extended");
  expect(extended).toEqual([]);
  expect(await writer.touch("a", bare, { originalMaxAge: LIFETIME_MS }, LIFETIME_MS)).toBe("extended");
  expect(extended).toEqual([EXTENSION]);
  // A record with data is asked for no lifetime.
  await writer.touch("b", loaded(), COOKIE, LIFETIME_MS);
  expect(extended.length).toBe(2);
});

test.each(["touch", "save"])("G5: a %s with another cookie replaces only the cookie", async (how) => {
  const played = new PlayedWriter();
  const { writer, redis } = played;
  redis.replies["replace-cookie"] = { kind: "written" };
  const binding = loaded();
  const payload = payloadOf({ cart: 1 }, CHANGED);
  const outcome =
    how === "touch"
      ? writer.touch("a", binding, CHANGED, LIFETIME_MS)
      : writer.save("a", binding, snapshot(payload), nobody);
  expect(await outcome).toBe("written");
  const [from, to] = [COOKIE, CHANGED].map((cookie) => quoted(prefixOf(cookie)));
  expect(redis.asked).toEqual([`replace-cookie session:a "mira,7,n=xyz," ${from} ${to} "11000"`]);
  expect([binding.payload, played.hasNoted(), played.extended]).toEqual([payload, true, []]);
});

test("G5: a cookie that another request changed meanwhile is replaced as it is now", async () => {
  const played = new PlayedWriter();
  const { writer, redis } = played;
  const other = payloadOf({ cart: 9 }, { path: "/third" });
  const replies = [{ kind: "differs", payload: other }, { kind: "written" }];
  redis.replies["replace-cookie"] = () => replies.shift();
  expect(await writer.touch("a", loaded(), CHANGED, LIFETIME_MS)).toBe("written");
  const starts = redis.asked.map((line) => JSON.parse(line.split(" ")[3] ?? ""));
  expect(starts).toEqual([prefixOf(COOKIE), prefixOf({ path: "/third" })]);
});

test("G5: a cookie that changes again and again is given up after three tries", async () => {
  const played = new PlayedWriter();
  const { writer, redis } = played;
  redis.replies["replace-cookie"] = { kind: "differs", payload: payloadOf({}, { path: "/third" }) };
  const binding = loaded();
  expect(await writer.touch("a", binding, CHANGED, LIFETIME_MS)).toBe("fenced");
  expect([redis.asked.length, binding.payload, played.hasNoted()]).toEqual([3, loaded().payload, false]);
});

test("G5: a cookie is not placed in a record that has ended, nor in what is no session's data", async () => {
  const played = new PlayedWriter();
  const { writer, redis } = played;
  redis.replies["replace-cookie"] = { kind: "fenced" };
  const binding = loaded();
  expect(await writer.touch("a", binding, CHANGED, LIFETIME_MS)).toBe("fenced");
  expect([binding.payload, played.hasNoted(), redis.asked.length]).toEqual([loaded().payload, false, 1]);
  expect(await writer.touch("a", loaded({ payload: "nonsense" }), CHANGED, LIFETIME_MS)).toBe("fenced");
  expect(redis.asked.length).toBe(1);
  redis.replies["replace-cookie"] = { kind: "differs", payload: "nonsense" };
  expect(await writer.touch("a", binding, CHANGED, LIFETIME_MS)).toBe("fenced");
  expect(redis.asked.length).toBe(2);
});

test("G5: a bare record that got data from elsewhere is written whole", async () => {
  const { writer, redis } = new PlayedWriter();
  redis.replies["update-record"] = { kind: "written", at: "" };
  const bare = (): SessionBinding => loaded({ head: "mira,7", bare: true, dataUser: "mira" });
  const payload = payloadOf({ cart: 1 }, CHANGED);
  const touched = bare();
  expect(await writer.touch("a", touched, CHANGED, LIFETIME_MS)).toBe("written");
  expect(touched.dataUser).toBe("mira");
  await writer.save("a", bare(), snapshot(payload, { dataUser: "mira" }), nobody);
  const asked = `update-record session:a "mira,7" "1" "mira,7,," "" ${quoted(payload)} "11000" ""`;
  expect(redis.asked).toEqual([asked, asked]);
});

test("G5: a touch waits for the saves before it, and keeps their data", async () => {
  const { writer, redis } = new PlayedWriter();
  redis.replies["save-records"] = ["1"];
  redis.replies["replace-cookie"] = { kind: "written" };
  const binding = loaded();
  const saved = writer.save("a", binding, snapshot(payloadOf({ cart: 2 })), nobody);
  const touched = writer.touch("a", binding, CHANGED, LIFETIME_MS);
  expect([await saved, await touched]).toEqual(["written", "written"]);
  expect(redis.asked.map((line) => line.split(" ")[0])).toEqual(["save-records", "replace-cookie"]);
  expect(binding.payload).toBe(payloadOf({ cart: 2 }, CHANGED));
});

test("G5: a touch by hand goes by what is stored", async () => {
  const { writer, redis, extended } = new PlayedWriter();
  redis.replies["replace-cookie"] = { kind: "written" };
  expect(await writer.touch("a", foreignBinding(), COOKIE, LIFETIME_MS)).toBe("fenced");
  redis.values.set("session:a", `mira,7,n=xyz,${payloadOf({ cart: 1 })}`);
  expect(await writer.touch("a", foreignBinding(), CHANGED, LIFETIME_MS)).toBe("written");
  expect(redis.asked[2]).toMatch(/^replace-cookie session:a "mira,7,n=xyz," /);
  expect(extended).toEqual([]);
});

test.each([null, undefined, "text"])(
  "G5: a touch by hand with the cookie %j asks for the stored life",
  async (cookie) => {
    const { writer, redis, extended } = new PlayedWriter();
    redis.values.set("session:a", `mira,7,n=xyz,${payloadOf({}, { originalMaxAge: 5_000 })}`);
    expect(await writer.touch("a", foreignBinding(), cookie, LIFETIME_MS)).toBe("extended");
    expect(redis.asked).toEqual(["mget session:a"]);
    // Counted from the moment it was read.
    expect(extended).toEqual([{ key: "session:a", ttlMs: expect.closeTo(5_500, -3) }]);
  },
);

test("G5: a deletion says whether it was this one", async () => {
  const { writer, redis } = new PlayedWriter();
  redis.replies["delete-record"] = false;
  expect(await writer.deleteHead("a", "mira,7", true)).toBe(false);
  expect(redis.asked).toEqual(['delete-record session:a "mira,7" "1"']);
});
