import { EventEmitter } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RetryLater } from "../../src/redis/retry-later.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function played(): { later: RetryLater; client: EventEmitter } {
  const client = new EventEmitter();
  const onReady = (listener: () => void): (() => void) => {
    client.on("ready", listener);
    return () => client.off("ready", listener);
  };
  return { later: new RetryLater({ onReady }), client };
}

/** A task that fails so many times. */
function failing(times: number): ReturnType<typeof vi.fn<() => Promise<void>>> {
  let left = times;
  return vi.fn(async () => {
    left -= 1;
    if (left >= 0) throw new Error("away");
  });
}

test("G7: what could not be told is tried at once, every second and on a new connection, until it is told", async () => {
  const { later, client } = played();
  const task = failing(3);
  later.add(task, 5);
  await vi.advanceTimersByTimeAsync(0);
  expect(task).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(task).toHaveBeenCalledTimes(2);
  client.emit("ready");
  await vi.advanceTimersByTimeAsync(0);
  expect(task).toHaveBeenCalledTimes(3);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(task).toHaveBeenCalledTimes(4);
  expect([client.listenerCount("ready"), vi.getTimerCount()]).toEqual([0, 0]);
});

test("G7: after ten minutes it is given up, and a later one starts anew", async () => {
  const { later, client } = played();
  const hopeless = failing(Number.POSITIVE_INFINITY);
  later.add(hopeless, 5);
  await vi.advanceTimersByTimeAsync(602_000);
  const tries = hopeless.mock.calls.length;
  expect(tries).toBeGreaterThan(500);
  await vi.advanceTimersByTimeAsync(60_000);
  expect([hopeless.mock.calls.length, client.listenerCount("ready"), vi.getTimerCount()]).toEqual([tries, 0, 0]);
  const next = failing(0);
  later.add(next, 5);
  await vi.advanceTimersByTimeAsync(0);
  expect(next).toHaveBeenCalledTimes(1);
});

test("G7: what is kept for later takes a bounded part of memory", async () => {
  const { later } = played();
  const tasks = [failing(1), failing(1), failing(1)];
  for (const task of tasks) later.add(task, 8 * 1_048_576);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(tasks.map((task) => task.mock.calls.length)).toEqual([2, 2, 0]);
  const after = failing(0);
  later.add(after, 16 * 1_048_576);
  await vi.advanceTimersByTimeAsync(0);
  expect(after).toHaveBeenCalledTimes(1);
});
