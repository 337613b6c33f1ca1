import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import type { RedisClient } from "../../src/redis/client.js";
import { ReplicatedConnection } from "../../src/redis/replicated-connection.js";

/** A client of which only the duplicate's WAIT is played; the test answers each when it wants. */
class PlayedClient extends EventEmitter {
  status = "ready";
  isCluster = false;
  disconnects = 0;
  readonly duplicates: PlayedClient[] = [];
  readonly waits: { readonly replicas: number; readonly answer: (count: number) => void }[] = [];

  duplicate(): PlayedClient {
    const copy = new PlayedClient();
    this.duplicates.push(copy);
    return copy;
  }

  pipeline([command = []]: string[][]): { exec(): Promise<unknown> } {
    const replicas = Number(command[1]);
    return {
      exec: () => new Promise((resolve) => this.waits.push({ replicas, answer: (count) => resolve([[null, count]]) })),
    };
  }

  /** The connection breaks and is there again, as ioredis tells it. */
  reconnect(): void {
    this.emit("close");
    this.emit("ready");
  }

  disconnect(): void {
    this.disconnects += 1;
    this.status = "end";
    this.emit("close");
  }

  get asClient(): RedisClient {
    return this as unknown as RedisClient;
  }
}

function turns(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}

test("G8: replicas are not counted on a connection that has written nothing", async () => {
  const shared = new PlayedClient();
  const replicated = new ReplicatedConnection(shared.asClient, 1_000);
  let marks = 0;
  const mark = async (): Promise<void> => {
    marks += 1;
  };
  const answer = replicated.acknowledged(mark, 1, 5_000);
  await turns();
  const [own] = shared.duplicates;
  expect([marks, own?.waits.length]).toEqual([1, 1]);
  own?.reconnect();
  await turns();
  expect([marks, own?.waits.length]).toEqual([2, 2]);
  // An answer from before the break comes to nobody.
  own?.waits[0]?.answer(1);
  await turns();
  expect(own?.waits.length).toBe(2);
  own?.waits[1]?.answer(1);
  expect(await answer).toBe(1);
});

test("G8: one WAIT at a time asks for the most that is wanted, and answers each who has enough", async () => {
  const shared = new PlayedClient();
  const replicated = new ReplicatedConnection(shared.asClient, 1_000);
  const done: number[] = [];
  const waiting = [1, 3, 2].map(async (replicas) => {
    await replicated.acknowledged(async () => undefined, replicas, 5_000);
    done.push(replicas);
  });
  await turns();
  const waits = shared.duplicates[0]?.waits ?? [];
  expect(waits.map(({ replicas }) => replicas)).toEqual([3]);
  waits[0]?.answer(1);
  await turns();
  expect([done, waits.map(({ replicas }) => replicas)]).toEqual([[1], [3, 3]]);
  waits[1]?.answer(2);
  await turns();
  expect(done).toEqual([1, 2]);
  waits[2]?.answer(3);
  await Promise.all(waiting);
});

test("G8: a connection whose WAIT gets no answer is given up, and the next logout opens another", async () => {
  const shared = new PlayedClient();
  const replicated = new ReplicatedConnection(shared.asClient, 30);
  await expect(replicated.acknowledged(async () => undefined, 1, 20)).rejects.toMatchObject({ status: 503 });
  await expect.poll(() => shared.duplicates[0]?.disconnects).toBe(1);
  const answer = replicated.acknowledged(async () => undefined, 1, 1_000);
  await expect.poll(() => shared.duplicates[1]?.waits.length).toBe(1);
  shared.duplicates[1]?.waits[0]?.answer(2);
  expect(await answer).toBe(2);
});

test("G8: close() ends a wait, and nothing is opened afterwards", async () => {
  const shared = new PlayedClient();
  const replicated = new ReplicatedConnection(shared.asClient, 200);
  const answer = replicated.acknowledged(async () => undefined, 1, 1_000);
  await turns();
  replicated.close();
  await expect(answer).rejects.toMatchObject({ code: "ERR_STORE_CLOSED" });
  expect([shared.duplicates.length, shared.duplicates[0]?.disconnects]).toEqual([1, 1]);
});
