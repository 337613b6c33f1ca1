import { expect, test } from "vitest";
import { RedisError } from "../../src/errors.js";
import { type Mark, ReplicatedConnection } from "../../src/redis/replicated-connection.js";
import { PlayedClient } from "../support/played-client.js";

/** A client whose copies, made for waiting, are played as well. */
class Shared extends PlayedClient {
  readonly copies: PlayedClient[] = [];
  readonly overrides: unknown[] = [];
  /** What each WAIT is answered. */
  counts: unknown[] = [[[null, 1]]];

  duplicate(overrides: unknown): PlayedClient {
    this.overrides.push(overrides);
    const copy = new PlayedClient();
    copy.replies["wait"] = this.counts;
    this.copies.push(copy);
    return copy;
  }

  get own(): PlayedClient {
    const copy = this.copies.at(-1);
    if (copy === undefined) throw new Error("no connection was opened");
    return copy;
  }
}

function played(timeoutMs = 1_000): { shared: Shared; replicated: ReplicatedConnection } {
  const shared = new Shared();
  return { shared, replicated: new ReplicatedConnection(shared.asClient, timeoutMs) };
}

const marked: Mark = async () => undefined;

function turns(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}

/** An answer that comes when the test says so. */
function gate<T>(): { readonly answer: Promise<T>; open(value: T): void } {
  let open: (value: T) => void = () => undefined;
  const answer = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { answer, open: (value) => open(value) };
}

test("G8: the connection for waiting sends nothing twice and nothing late, and its errors reach its callers only", async () => {
  const { shared, replicated } = played();
  expect(await replicated.acknowledged(marked, 1, 500)).toBe(1);
  expect(await replicated.acknowledged(marked, 1, 500)).toBe(1);
  expect(shared.overrides).toEqual([
    { autoResendUnfulfilledCommands: false, enableOfflineQueue: false, lazyConnect: true },
  ]);
  expect(() => shared.own.emit("error", new Error("broke"))).not.toThrow();
});

test.each([
  [new RedisError("ERR_REDIS_REPLY", "refused", "refused"), "ready"],
  [Object.assign(new Error("the caller's own"), { outcome: "unknown" }), "ready"],
  [new RedisError("ERR_REDIS_TIMEOUT", "unknown", "late"), "end"],
])("G8: a mark that fails (%s) fails its caller, and the connection is %s", async (failure, status) => {
  const { shared, replicated } = played();
  const failing = async (): Promise<void> => {
    throw failure;
  };
  await expect(replicated.acknowledged(failing, 1, 500)).rejects.toBe(failure);
  expect([shared.own.count("wait"), shared.own.status]).toEqual([0, status]);
  expect(await replicated.acknowledged(marked, 1, 500)).toBe(1);
  expect(shared.copies.length).toBe(status === "end" ? 2 : 1);
});

test("G8: a mark that fails because its connection broke is made again on the next", async () => {
  const { shared, replicated } = played();
  let marks = 0;
  const answer = replicated.acknowledged(
    async () => {
      marks += 1;
      if (marks > 1) return;
      shared.own.emit("close");
      setImmediate(() => shared.own.emit("ready"));
      throw new RedisError("ERR_REDIS_UNAVAILABLE", "unknown", "broke");
    },
    1,
    500,
  );
  expect([await answer, marks, shared.copies.length, shared.own.status]).toEqual([1, 2, 1, "ready"]);
});

test("G8: one mark per connection, however often it waits, in slices", async () => {
  const { shared, replicated } = played();
  shared.counts = [[[null, 0]], [[null, 1]], [[null, 2]]];
  let marks = 0;
  const answer = replicated.acknowledged(
    async () => {
      marks += 1;
    },
    2,
    500,
  );
  expect([await answer, marks]).toEqual([2, 1]);
  expect(shared.own.asked).toEqual(Array(3).fill(["wait", "wait 2 50"]));
});

test("G8: when the time is over the answer is how many there are, and no WAIT takes longer than that", async () => {
  const { shared, replicated } = played();
  shared.counts = [() => new Promise((resolve) => setTimeout(resolve, 10, [[null, 1]]))];
  const long = replicated.acknowledged(marked, 2, 200);
  expect(await replicated.acknowledged(marked, 2, 20)).toBe(1);
  const [first = []] = shared.own.asked;
  const waitMs = Number(first[1]?.split(" ")[2]);
  expect([waitMs >= 1, waitMs <= 20]).toEqual([true, true]);
  expect(await long).toBe(1);
});

test("G8: who came while others made their marks is not counted before he has made his", async () => {
  const { shared, replicated } = played();
  const slow = gate<void>();
  const wait = gate<unknown>();
  shared.counts = [() => wait.answer, [[null, 1]]];
  const order: string[] = [];
  const first = replicated.acknowledged(() => slow.answer, 1, 500).then(() => order.push("first"));
  await turns();
  const second = replicated.acknowledged(async () => void order.push("mark"), 1, 500).then(() => order.push("second"));
  slow.open();
  await turns();
  wait.open([[null, 1]]);
  await Promise.all([first, second]);
  expect(order).toEqual(["first", "mark", "second"]);
});

test("G8: a count from a connection that broke at once after it is not believed", async () => {
  const { shared, replicated } = played();
  const wait = gate<unknown>();
  shared.counts = [() => wait.answer, [[null, 1]]];
  let marks = 0;
  const answer = replicated.acknowledged(
    async () => {
      marks += 1;
    },
    1,
    500,
  );
  await turns();
  wait.open([[null, 7]]);
  shared.own.emit("close");
  shared.own.emit("ready");
  expect([await answer, marks]).toEqual([1, 2]);
});

test("G8: a connection that has ended is replaced", async () => {
  const { shared, replicated } = played();
  await replicated.acknowledged(marked, 1, 500);
  shared.own.status = "end";
  expect([await replicated.acknowledged(marked, 1, 500), shared.copies.length]).toEqual([1, 2]);
});

test("G8: a client that cannot be copied and a closed store wait for nothing", async () => {
  const refused = (client: unknown): Promise<number> =>
    new ReplicatedConnection(client as never, 100).acknowledged(marked, 1, 50);
  await expect(refused(new PlayedClient())).rejects.toMatchObject({
    code: "ERR_REDIS_UNAVAILABLE",
    outcome: "not-sent",
    message: "This client cannot open a connection to wait for replicas",
  });
  const { replicated, shared } = played();
  replicated.close();
  await expect(replicated.acknowledged(marked, 1, 50)).rejects.toMatchObject({
    code: "ERR_STORE_CLOSED",
    outcome: "not-sent",
    message: "The store was closed while it waited for replicas",
  });
  expect(shared.copies).toEqual([]);
});

test("G8: for a caller whose time ran out before his mark was made, nobody waits afterwards", async () => {
  const { shared, replicated } = played(20);
  const slow = gate<void>();
  await expect(replicated.acknowledged(() => slow.answer, 1, 20)).rejects.toMatchObject({ code: "ERR_REDIS_TIMEOUT" });
  slow.open();
  await turns();
  expect(shared.own.count("wait")).toBe(0);
});
