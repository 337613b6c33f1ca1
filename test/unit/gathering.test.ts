import { expect, test } from "vitest";
import { Gathering } from "../../src/redis/gathering.js";
import { Moment } from "../../src/redis/moment.js";
import { Gate } from "../support/gate.js";

/** Gathers numbers; `sent` are the batches, each held until its gate opens. */
function gathering(maxItems = 3): { gathering: Gathering<number>; sent: number[][]; gates: Gate[] } {
  const sent: number[][] = [];
  const gates: Gate[] = [];
  const made = new Gathering<number>(new Moment({}), maxItems, async (items) => {
    sent.push([...items]);
    const gate = new Gate();
    gates.push(gate);
    await gate.pass();
  });
  return { gathering: made, sent, gates };
}

const tick = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));
const immediate = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("G1: for a lone caller a moment is this step of the event loop", async () => {
  const { gathering: g, sent, gates } = gathering();
  for (const item of [1, 2]) {
    const done = g.add(item);
    expect(sent).toHaveLength(item - 1);
    await tick();
    expect(sent).toHaveLength(item);
    gates[item - 1]?.open();
    await done;
  }
  expect(sent).toEqual([[1], [2]]);
});

test("G1: after several at once it lasts until the next setImmediate, until one is alone again", async () => {
  const { gathering: g, sent, gates } = gathering();
  const done = [g.add(1), g.add(2)];
  expect(done[0]).toBe(done[1]);
  await tick();
  expect(sent).toEqual([[1, 2]]);
  gates[0]?.open();
  await Promise.all(done);
  for (const item of [3, 4]) {
    const next = g.add(item);
    await tick();
    expect(sent).toHaveLength(item - 2 + (item === 4 ? 1 : 0));
    await immediate();
    expect(sent.at(-1)).toEqual([item]);
    gates.at(-1)?.open();
    await next;
  }
});

test("G1: while something is on its way, it lasts until the next setImmediate", async () => {
  const { gathering: g, sent, gates } = gathering();
  void g.add(1);
  await tick();
  void g.add(2);
  await tick();
  void g.add(3);
  expect(sent).toEqual([[1]]);
  await immediate();
  expect(sent).toEqual([[1], [2, 3]]);
  for (const gate of gates) gate.open();
});

test("G1: a batch has its bound, and the next one is sent in the same moment", async () => {
  const { gathering: g, sent, gates } = gathering(2);
  const done = [1, 2, 3, 4, 5].map((item) => g.add(item));
  await tick();
  expect(sent).toEqual([[1, 2], [3, 4], [5]]);
  for (const gate of gates) gate.open();
  await Promise.all(done);
});

test("G7: a failure is that of its batch alone, and the gathering goes on", async () => {
  const failures = [new Error("first"), undefined, undefined];
  let batches = 0;
  const g = new Gathering<number>(new Moment({}), 1, async () => {
    const failure = failures[batches++];
    if (failure !== undefined) throw failure;
  });
  const [one, two] = await Promise.allSettled([g.add(1), g.add(2)]);
  expect([one?.status, two?.status]).toEqual(["rejected", "fulfilled"]);
  await g.add(3);
  expect(batches).toBe(3);
});
