import { inspect } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { GenerationStore, type RedisClient } from "../../src/index.js";
import { sidOf, testApp } from "../support/app.js";
import { freshClient } from "../support/clients.js";

const USER = "user-7731@example.org";

/** All there is to see of a value: messages, stacks, causes, hidden properties, and what JSON makes of it. */
function everythingIn(value: unknown): string {
  return inspect(value, { depth: 20, showHidden: true, maxStringLength: null, maxArrayLength: null });
}

/** A client that fails as ioredis does: with the whole command on the error, and its arguments in the message. */
function failingClient(client: RedisClient, message: (args: unknown[]) => string): RedisClient {
  const failing = new Set(["get", "mget", "del", "pexpire", "pexpireat", "eval", "evalsha"]);
  return new Proxy(client, {
    get(target, name) {
      const own = Reflect.get(target, name);
      if (typeof own !== "function") return own;
      if (!failing.has(String(name))) return own.bind(target);
      return (...args: unknown[]) =>
        Promise.reject(Object.assign(new Error(message(args)), { command: { name, args: args.flat() } }));
    },
  });
}

test.each([
  [
    "an error reply",
    (args: unknown[]) => `ERR unknown command 'x', with args beginning with: ${args.flat().join(" ")}`,
  ],
  ["a script error", (args: unknown[]) => `ERR user_script:1: bad argument '${args.flat().join(" ")}' script: f_0`],
  ["a permission error", (args: unknown[]) => `NOPERM No permissions to access a key '${args.flat().join(" ")}'`],
  ["a broken connection", () => "Connection is closed."],
])("G9: %s of Redis reaches the application without session ID, user ID or data", async (_kind, message) => {
  const store = new GenerationStore({ client: failingClient(await freshClient(), message) });
  const data = { cookie: { originalMaxAge: 1_000 }, note: "private-note" } as never;
  const errors = await Promise.all(
    [
      () => store.get("secret-session-id"),
      () => store.set("secret-session-id", data),
      () => store.touch("secret-session-id", data),
      () => store.destroy("secret-session-id"),
      () => store.beginLogin(USER),
      () => store.logoutEverywhere(USER),
      () => store.generation(USER),
      () => store.isCurrent({ userId: USER, generation: "1" }),
    ].map((call) =>
      call().then(
        () => undefined,
        (error: unknown) => error,
      ),
    ),
  );
  for (const error of errors) {
    expect(error).toMatchObject({ status: 503 });
    expect(everythingIn(error)).not.toMatch(/secret-session-id|7731|private-note/);
  }
});

test("G9: misuse, overtaken logins and data that cannot be stored name no ID and no content either", async () => {
  const { signedIn, store, errors, browser } = await testApp({
    routes: (app, itself) => {
      app.post("/overtaken", async (req) => {
        const attempt = await itself.beginLogin(USER);
        await itself.logoutEverywhere(USER);
        await itself.login(req, attempt);
      });
      app.post("/bigint", (req, res) => {
        req.session["private-note"] = 7n;
        res.end();
      });
      app.post("/object", async (req) => {
        await itself.login(req, { id: USER } as never);
      });
    },
  });
  const device = await signedIn(USER);
  const sids = [sidOf(device)];
  for (const path of ["/overtaken", "/bigint", "/object"]) await device.post(path);
  await browser().post("/others");
  expect(errors).toHaveLength(4);
  for (const error of errors) {
    // The stack may show this test's own lines, but no values.
    const { message, cause, ...rest } = error as Error & { cause?: unknown };
    const seen = everythingIn({ message, cause, rest });
    for (const secret of [...sids, "7731", "private-note"]) expect(seen).not.toContain(secret);
  }
  for (const wrong of ["", `${USER}${"x".repeat(600)}`, `${USER}\ud800`]) {
    const error: unknown = await store.logoutEverywhere(wrong).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).not.toContain("7731");
  }
});

test("G9: events and warnings carry no ID and no content", async () => {
  const seen: unknown[] = [];
  const warn = (warning: Error): number => seen.push(warning.message);
  process.on("warning", warn);
  onTestFinished(() => void process.off("warning", warn));
  const { signedIn, store, client, browser } = await testApp();
  for (const name of ["fenced", "corrupt", "unprotected", "logout", "reapplied"]) {
    store.on(name, (event: unknown) => seen.push(name, event));
  }
  const device = await signedIn(USER);
  const sid = sidOf(device);
  await client.set(`session:${sid}`, `${USER},broken,private-note`);
  await device.get("/me");
  await browser().post(`/set/userId/${encodeURIComponent(USER)}`);
  await store.logoutEverywhere(USER);
  await new Promise(setImmediate);
  expect(seen).toEqual(expect.arrayContaining(["corrupt", "unprotected", "logout"]));
  const text = everythingIn(seen);
  for (const secret of [sid, "7731", "private-note"]) expect(text).not.toContain(secret);
});
