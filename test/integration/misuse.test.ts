import { expect, test } from "vitest";
import { GenerationStore, type GenerationStoreOptions, requireLogin } from "../../src/index.js";
import { testApp } from "../support/app.js";
import { freshClient } from "../support/clients.js";

/** Expects a `TypeError` with a code, whose message matches; answers the message. */
function expectMisuse(act: () => unknown, message: RegExp): void {
  expect(act).toThrow(TypeError);
  expect(act).toThrow(message);
  expect(act).toThrow(expect.objectContaining({ code: expect.stringMatching(/^ERR_INVALID_ARG_(?:TYPE|VALUE)$/) }));
}

const OPTIONS: readonly (readonly [what: string, options: unknown, message: RegExp])[] = [
  ["no options", undefined, /options object, got undefined/],
  ["null", null, /options object, got null/],
  ["an array", [], /options object, got an array/],
  ["no client", {}, /client: expected an ioredis client, got undefined/],
  ["a null client", { client: null }, /client: expected an ioredis client, got null/],
  ["an address for a client", { client: "redis://localhost" }, /client: expected an ioredis client, got a string/],
  ["an object for a client", { client: {} }, /an object without on, removeListener, get/],
  ["ttlMs 0", { ttlMs: 0 }, /ttlMs: expected an integer number of milliseconds from 1 to \d+, got 0/],
  ["ttlMs -1", { ttlMs: -1 }, /ttlMs: .*got -1/],
  ["ttlMs NaN", { ttlMs: Number.NaN }, /ttlMs: .*got NaN/],
  ["ttlMs '1'", { ttlMs: "1" }, /ttlMs: .*got a string/],
  ["ttlMs 1.5", { ttlMs: 1.5 }, /ttlMs: .*got 1.5/],
  ["ttlMs Infinity", { ttlMs: Number.POSITIVE_INFINITY }, /ttlMs: .*got Infinity/],
  ["ttlMs of eleven years", { ttlMs: 11 * 365.25 * 86_400_000 }, /ttlMs: expected .* to 315576000000/],
  ["touchIntervalMs -1", { touchIntervalMs: -1 }, /touchIntervalMs: .* from 0 /],
  ["commandTimeoutMs 0", { commandTimeoutMs: 0 }, /commandTimeoutMs: .* from 1 /],
  ["commandTimeoutMs beyond a timer", { commandTimeoutMs: 2 ** 31 }, /commandTimeoutMs/],
  ["primaryCheckIntervalMs 9", { primaryCheckIntervalMs: 9 }, /primaryCheckIntervalMs: .* from 10 to 3600000/],
  ["generationTtlMs 0", { generationTtlMs: 0 }, /generationTtlMs/],
  ["absoluteTtlMs 0", { absoluteTtlMs: 0 }, /absoluteTtlMs/],
  ["maxSessionBytes 0", { maxSessionBytes: 0 }, /maxSessionBytes: .*bytes/],
  ["an empty prefix", { sessionPrefix: "" }, /sessionPrefix: expected a non-empty string, got an empty string/],
  ["a prefix that is no text", { generationPrefix: 5 }, /generationPrefix: expected a non-empty string, got a number/],
  ["equal prefixes", { sessionPrefix: "a:", generationPrefix: "a:" }, /overlap/],
  ["a prefix within the other", { sessionPrefix: "a:", generationPrefix: "a:b:" }, /overlap/],
  ["the other way round", { sessionPrefix: "user_login_age:s:" }, /overlap/],
  ["userId that is no function", { userId: "id" }, /userId: expected a function, got a string/],
  ["an unknown option", { ttl: 5 }, /unknown option "ttl"; known are client, sessionPrefix/],
  ["an option in another spelling", { TTLMs: 5 }, /unknown option "TTLMs"/],
];

test.each(OPTIONS)("misuse: new GenerationStore with %s is a TypeError at once", async (what, options, message) => {
  const client = await freshClient();
  const complete =
    /options object|client/.test(String(message)) && !/unknown/.test(what) ? options : merged(client, options);
  expectMisuse(() => new GenerationStore(complete as GenerationStoreOptions), message);
});

function merged(client: object, options: unknown): object {
  return { client, ...(options as object) };
}

test("misuse: undefined options are left out, as when they come from unset configuration", async () => {
  const client = await freshClient();
  const store = new GenerationStore({ client, ttlMs: undefined, sessionPrefix: undefined, userId: undefined });
  await store.set("a", { cookie: {} } as never);
  expect(await client.pttl("session:a")).toBeGreaterThan(86_000_000);
});

const NO_USER_IDS: readonly (readonly [string, unknown])[] = [
  ["null", null],
  ["undefined", undefined],
  ["an object", {}],
  ["an array", ["100"]],
  ["an empty string", ""],
  ["NaN", Number.NaN],
  ["a fraction", 1.5],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["an unsafe integer", 2 ** 53],
  ["true", true],
  ["a symbol", Symbol("user")],
  ["a function", () => "100"],
  ["a high surrogate", "a\ud83d"],
  ["a low surrogate", "\ude00b"],
  ["513 bytes", "x".repeat(513)],
  ["513 bytes of two-byte characters", "é".repeat(257)],
  ["513 bytes when encoded", `${"{".repeat(171)}x`],
  ["a megabyte", "x".repeat(1_000_000)],
  ["String object", Object("100")],
  ["a request body", { userText: "100", generation: "1" }],
];

const METHODS: Readonly<Record<string, (store: GenerationStore, userId: never) => Promise<unknown>>> = {
  beginLogin: (store, userId) => store.beginLogin(userId),
  logoutEverywhere: (store, userId) => store.logoutEverywhere(userId),
  generation: (store, userId) => store.generation(userId),
  isCurrent: (store, userId) => store.isCurrent({ userId, generation: "1" }),
};

test.each(NO_USER_IDS)(
  "misuse: %s as user ID is a TypeError everywhere, and nothing is sent",
  async (_what, userId) => {
    const client = await freshClient();
    const store = new GenerationStore({ client });
    for (const [name, method] of Object.entries(METHODS)) {
      const failure = await method(store, userId as never).then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(failure).toBeInstanceOf(TypeError);
      expect(failure).toMatchObject({
        message: expect.stringMatching(new RegExp(`^${name}: expected a user ID .*, got `)),
        code: expect.stringMatching(/^ERR_INVALID_ARG_(?:TYPE|VALUE)$/),
      });
      expect((failure as Error).message.length).toBeLessThan(200);
    }
    expect(await client.dbsize()).toBe(0);
  },
);

test.each(NO_USER_IDS)(
  "misuse: login(req, %s) is a TypeError; the request keeps its session",
  async (_what, userId) => {
    const { signedIn, store } = await testApp({
      routes: (app, own) => {
        app.post("/bad", async (req, res) => {
          const failure: unknown = await own.login(req, userId as never).catch((error: unknown) => error);
          const { code } = failure as { code?: string };
          res.json({ isTypeError: failure instanceof TypeError, hasCode: code?.startsWith("ERR_INVALID_ARG_") });
        });
      },
    });
    const device = await signedIn("100");
    expect((await device.post("/bad")).json()).toEqual({ isTypeError: true, hasCode: true });
    expect((await device.get("/me")).json()).toEqual({ user: "100", data: {} });
    expect(await store.length()).toBe(1);
  },
);

test("user IDs at the limits work: 512 bytes, 0, negative, the largest integers", async () => {
  const client = await freshClient();
  const store = new GenerationStore({ client });
  for (const userId of [
    "x".repeat(512),
    "é".repeat(256),
    "{".repeat(170),
    0,
    -0,
    -7,
    Number.MAX_SAFE_INTEGER,
    10n ** 500n,
  ]) {
    const { generation } = await store.logoutEverywhere(userId);
    expect(await store.generation(userId)).toBe(generation);
  }
});

test.each([
  ["login without a request", (store: GenerationStore) => store.login(undefined as never, "100")],
  ["login on a request without session", (store: GenerationStore) => store.login({} as never, "100")],
  [
    "login with an unknown option",
    (store: GenerationStore) => store.login({} as never, "100", { keeps: true } as never),
  ],
  ["login with keep: 1", (store: GenerationStore) => store.login({} as never, "100", { keep: 1 } as never)],
  ["rotate without a request", (store: GenerationStore) => store.rotate(null as never)],
  ["rotate on a foreign session", (store: GenerationStore) => store.rotate({ session: {}, sessionID: "x" } as never)],
  ["logoutOthers without a request", (store: GenerationStore) => store.logoutOthers("100" as never)],
  ["logoutEverywhere with replicas -1", (store: GenerationStore) => store.logoutEverywhere("100", { replicas: -1 })],
  ["logoutEverywhere with timeoutMs 0", (store: GenerationStore) => store.logoutEverywhere("100", { timeoutMs: 0 })],
  [
    "logoutEverywhere with an unknown option",
    (store: GenerationStore) => store.logoutEverywhere("1", { all: 1 } as never),
  ],
  [
    "logoutEverywhere with a reason that is no text",
    (store: GenerationStore) => store.logoutEverywhere("1", { reason: 5 } as never),
  ],
  ["isCurrent of nothing", (store: GenerationStore) => store.isCurrent(undefined as never)],
  ["isCurrent of text", (store: GenerationStore) => store.isCurrent("100,1" as never)],
  ["beginLogin with a request that is text", (store: GenerationStore) => store.beginLogin("100", "req" as never)],
])("misuse: %s rejects with a TypeError that has a code, and changes nothing", async (_what, act) => {
  const client = await freshClient();
  const store = new GenerationStore({ client });
  await expect(act(store)).rejects.toMatchObject({
    name: "TypeError",
    code: expect.stringMatching(/^ERR_INVALID_ARG_/),
  });
  expect(await client.dbsize()).toBe(0);
});

test.each([
  [undefined],
  [null],
  [""],
  ["100,1"],
  ["attempt1,100"],
  ["attempt1,100,1,2"],
  ["attempt1,a b,1"],
  ["attempt1,100,x"],
  [{}],
  [5],
])("misuse: resumeLogin(%j) is a TypeError", async (text) => {
  const store = new GenerationStore({ client: await freshClient() });
  expectMisuse(() => store.resumeLogin(text as never), /resumeLogin: expected the text of a login attempt/);
});

test.each([
  [{ maxAgeMs: 0 }, /maxAgeMs/],
  [{ maxAgeMs: "1" }, /maxAgeMs/],
  [{ maxAge: 5 }, /unknown option "maxAge"/],
  [null, /options object/],
])("misuse: requireLogin(%j) is a TypeError at once", (options, message) => {
  expectMisuse(() => requireLogin(options as never), message);
});

test("misuse: a store called after close() says so, each time", async () => {
  const client = await freshClient();
  const store = new GenerationStore({ client });
  await store.close();
  await store.close();
  const calls: (() => Promise<unknown>)[] = [
    () => store.get("a"),
    () => store.set("a", { cookie: {} } as never),
    () => store.destroy("a"),
    () => store.ids(),
    () => store.generation("1"),
    () => store.beginLogin("1"),
  ];
  for (const call of calls) await expect(call()).rejects.toMatchObject({ code: "ERR_STORE_CLOSED", status: 503 });
  await expect(store.logoutEverywhere("1")).rejects.toMatchObject({ code: "ERR_STORE_CLOSED", status: 503 });
  expect(await client.ping()).toBe("PONG");
});
