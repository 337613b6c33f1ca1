import { expect, test } from "vitest";
import { Gathering } from "../../src/redis/gathering.js";
import { Moment } from "../../src/redis/moment.js";

/** A client that notes in which order it was written to; `stream` is its socket. */
function noted(): { told: string[]; stream: { cork(): void; uncork(): void } } {
  const told: string[] = [];
  return { told, stream: { cork: () => told.push("cork"), uncork: () => told.push("uncork") } };
}

const immediate = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("costs: what is sent in one moment, of whatever kind, goes out in one write", async () => {
  const { told, stream } = noted();
  const moment = new Moment({ stream });
  const kind = (name: string): Gathering<string> =>
    new Gathering(moment, 10, async (items) => {
      told.push(`${name} ${items.join(" ")}`);
    });
  const [reads, saves] = [kind("read"), kind("save")];
  await Promise.all([reads.add("a"), saves.add("b"), reads.add("c")]);
  expect(told).toEqual(["cork", "read a c", "save b", "uncork"]);
});

test("costs: one command alone is written as it is", async () => {
  const { told, stream } = noted();
  const reads = new Gathering<string>(new Moment({ stream }), 10, async () => {
    told.push("read");
  });
  await reads.add("a");
  expect(told).toEqual(["read"]);
});

test("G7: the socket is let go whatever happens, and the next moment comes", async () => {
  const { told, stream } = noted();
  const moment = new Moment({ stream });
  const failed = new Promise((resolve) => process.once("uncaughtException", resolve));
  moment.atEnd(() => told.push("first"));
  moment.atEnd(() => {
    throw new Error("played");
  });
  await expect(failed).resolves.toMatchObject({ message: "played" });
  expect(told).toEqual(["cork", "first", "uncork"]);
  moment.atEnd(() => told.push("second"));
  await immediate();
  expect(told.at(-1)).toBe("second");
});

test.each([{}, { stream: null }, { stream: undefined }, { stream: {} }])(
  "a client without a socket is used as it is: %j",
  async (client) => {
    const moment = new Moment(client);
    const told: number[] = [];
    moment.atEnd(() => told.push(1));
    moment.atEnd(() => told.push(2));
    await immediate();
    expect(told).toEqual([1, 2]);
  },
);
