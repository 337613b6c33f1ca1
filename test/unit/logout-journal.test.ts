import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { RedisConnection } from "../../src/redis/connection.js";
import { Generations } from "../../src/session/generations.js";
import { LogoutJournal } from "../../src/session/logout-journal.js";
import { StoreEvents } from "../../src/session/store-events.js";

/** A Redis of which only what the journal asks is played; the fake clock decides when it asks. */
class PlayedRedis {
  readonly counters = new Map<string, string>();
  readonly asked: number[] = [];
  readonly restored: string[] = [];
  isAway = false;
  /** While there is one, MGETs are answered when it ends. */
  held: Promise<void> | undefined;
  reply: unknown = "raised";
  readyListeners: (() => void)[] = [];

  async mget(keys: string[]): Promise<(string | null)[]> {
    this.asked.push(keys.length);
    if (this.isAway) throw new Error("away");
    await this.held;
    return keys.map((key) => this.counters.get(key) ?? null);
  }

  readonly nodeNameOf = (): string => "";

  run(script: { name: string }, key: string, args: string[]): Promise<unknown> {
    this.restored.push([script.name, key, ...args].join(" ").trimEnd());
    return Promise.resolve(this.reply);
  }

  onReady(listener: () => void): () => void {
    this.readyListeners.push(listener);
    return () => {
      this.readyListeners = this.readyListeners.filter((one) => one !== listener);
    };
  }

  get asRedis(): RedisConnection {
    return this as unknown as RedisConnection;
  }
}

function played(): { redis: PlayedRedis; journal: LogoutJournal; events: string[] } {
  const redis = new PlayedRedis();
  const events: string[] = [];
  const journal = new LogoutJournal({
    redis: redis.asRedis,
    generations: new Generations(redis.asRedis, "user_login_age:", 1_000),
    events: new StoreEvents((name, event) => events.push(`${name} ${JSON.stringify(event)}`)),
    sessionPrefix: "session:",
  });
  return { redis, journal, events };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
});

afterEach(() => {
  vi.useRealTimers();
});

/** Lets time pass, and after each second what was begun in it come to its end. */
async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    vi.advanceTimersByTime(1_000);
    await settled();
  }
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test("G8: the journal looks every second at first, then less often, and forgets after ten minutes", async () => {
  const { redis, journal } = played();
  redis.counters.set("user_login_age:mira", "7");
  journal.noteRaise("mira", "7");
  await pass(30);
  const first = redis.asked.length;
  expect(first).toBeGreaterThanOrEqual(29);
  await pass(90);
  const second = redis.asked.length - first;
  expect(second).toBeGreaterThanOrEqual(17);
  expect(second).toBeLessThanOrEqual(20);
  await pass(490);
  const all = redis.asked.length;
  expect(all - first - second).toBeLessThanOrEqual(18);
  await pass(60);
  expect([redis.asked.length, redis.restored, vi.getTimerCount(), redis.readyListeners]).toEqual([all, [], 0, []]);
});

test("G8: the journal looks at everything as soon as the client has connected anew", async () => {
  const { redis, journal, events } = played();
  redis.counters.set("user_login_age:mira", "7");
  redis.counters.set("session:sid", "mira,7,n=abc,{}");
  journal.noteRaise("mira", "7");
  journal.noteEnding("gone", "mira,7,n=xyz,{}");
  await pass(300);
  expect(redis.restored).toEqual([]);
  // Lost three minutes before the next look would have been due.
  redis.counters.set("user_login_age:mira", "6");
  redis.counters.set("session:gone", "mira,7,n=xyz,{}");
  for (const listener of redis.readyListeners) listener();
  await settled();
  expect(redis.restored).toEqual([
    "restore-generation user_login_age:mira 7",
    "delete-record session:gone mira,7,n=xyz,",
  ]);
  await new Promise((resolve) => process.nextTick(resolve));
  expect(events).toEqual(['reapplied {"what":"generation"}', 'reapplied {"what":"session"}']);
});

test("G8: while Redis is away the journal asks once a second, then looks at everything", async () => {
  const { redis, journal } = played();
  redis.counters.set("user_login_age:old", "7");
  journal.noteRaise("old", "7");
  await pass(290);
  redis.isAway = true;
  journal.noteRaise("new", "9");
  const before = redis.asked.length;
  await pass(5);
  expect(redis.asked.length - before).toBe(5);
  redis.isAway = false;
  redis.counters.set("user_login_age:old", "6");
  await pass(1);
  expect(redis.restored).toEqual(["restore-generation user_login_age:old 7"]);
});

test("G8: the journal's memory is bounded, and it asks for at most 500 keys at once", async () => {
  const { redis, journal } = played();
  for (let index = 0; index < 120_000; index += 1) journal.noteRaise(`u-${index}`, "7");
  for (let index = 0; index < 60_000; index += 1) journal.noteEnding(`s-${index}`, `mira,7,n=${index},{}`);
  await pass(1);
  await settled();
  await vi.waitFor(() => expect(redis.asked.reduce((sum, count) => sum + count, 0)).toBe(100_000));
  expect(Math.max(...redis.asked)).toBe(500);
});

test("G8: the journal neither lowers a counter nor touches one that is gone or no number", async () => {
  const { redis, journal } = played();
  redis.counters.set("user_login_age:higher", "1000000000000000001");
  redis.counters.set("user_login_age:longer", "10");
  redis.counters.set("user_login_age:text", "many");
  for (const user of ["higher", "longer", "text", "missing"])
    journal.noteRaise(user, user === "higher" ? "999999999999999999" : "9");
  await pass(3);
  expect(redis.restored).toEqual([]);
});

test("G8: a closed journal remembers nothing and has no timer, also for a logout that is answered later", async () => {
  const { redis, journal } = played();
  journal.noteRaise("mira", "7");
  journal.close();
  journal.noteRaise("late", "7");
  journal.noteEnding("late", "mira,7,n=xyz,{}");
  await pass(3);
  expect([redis.asked, vi.getTimerCount(), redis.readyListeners]).toEqual([[], 0, []]);
});

test("G8: a record that another service wrote bare is not ended a second time", async () => {
  const { redis, journal } = played();
  journal.noteEnding("sid", "mira,7");
  journal.noteEnding("other", "");
  await pass(2);
  expect([redis.asked, vi.getTimerCount()]).toEqual([[], 0]);
});

test("G8: what is noted late is looked at as often, and as long, as what is noted at the start", async () => {
  const { redis, journal } = played();
  await pass(400);
  journal.noteRaise("mira", "7");
  await pass(30);
  expect(redis.asked.length).toBeGreaterThanOrEqual(29);
  await pass(500);
  const before = redis.asked.length;
  await pass(60);
  expect(redis.asked.length).toBeGreaterThan(before);
});

test("G8: the journal leaves a logout the best part of a second before it first looks", async () => {
  const { redis, journal } = played();
  journal.noteRaise("first", "7");
  vi.advanceTimersByTime(500);
  journal.noteRaise("later", "7");
  journal.noteRaise("latest", "7");
  vi.advanceTimersByTime(500);
  await settled();
  expect(redis.asked).toEqual([1]);
});

test("G8: the journal looks once at a time, and once more at everything if the client connected anew meanwhile", async () => {
  const { redis, journal } = played();
  let answer: (() => void) | undefined;
  redis.held = new Promise((resolve) => {
    answer = resolve;
  });
  journal.noteRaise("mira", "7");
  await pass(5);
  expect(redis.asked).toEqual([1]);
  for (const listener of redis.readyListeners) listener();
  await settled();
  expect(redis.asked).toEqual([1]);
  answer?.();
  await settled();
  expect(redis.asked).toEqual([1, 1]);
});

test("G8: what another has ended or raised already is no event", async () => {
  const { redis, journal, events } = played();
  redis.reply = false;
  redis.counters.set("user_login_age:mira", "6");
  redis.counters.set("session:gone", "mira,7,n=xyz,{}");
  journal.noteRaise("mira", "7");
  journal.noteEnding("gone", "mira,7,n=xyz,{}");
  await pass(1);
  await new Promise((resolve) => process.nextTick(resolve));
  expect([redis.restored.length, events]).toEqual([2, []]);
});

test("G8: a journal that has noted nothing can be closed", () => {
  expect(() => played().journal.close()).not.toThrow();
});
