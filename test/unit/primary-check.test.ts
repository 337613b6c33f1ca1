import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Deadline } from "../../src/redis/deadline.js";
import { PrimaryCheck } from "../../src/redis/primary-check.js";
import { PlayedClient } from "../support/played-client.js";

const PRIMARY = [[null, "# Replication\r\nrole:master\r\n"]];
const REPLICA = [[null, "# Replication\r\nrole:slave\r\n"]];

function played(): { client: PlayedClient; check: PrimaryCheck } {
  const client = new PlayedClient();
  return { client, check: new PrimaryCheck(client.asClient, 1_000) };
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
});

afterEach(() => {
  vi.useRealTimers();
});

test("G1: before the first answer nobody knows: the first command waits for it", async () => {
  const { client, check } = played();
  client.replies["info replication"] = [PRIMARY];
  client.replies["info"] = [PRIMARY];
  check.watch(100);
  expect(check.isDemoted).toBe(true);
  await check.pass(new Deadline(100));
  expect(check.isDemoted).toBe(false);
});

test("G1: a server that says that it is a replica is noticed at the next look, one that is a primary again too", async () => {
  const { client, check } = played();
  client.replies["info"] = [PRIMARY, REPLICA, new Error("no answer"), PRIMARY];
  check.watch(100);
  const seen: boolean[] = [];
  for (let look = 0; look < 4; look += 1) {
    vi.advanceTimersByTime(100);
    await turns();
    seen.push(check.isDemoted);
  }
  expect(seen).toEqual([false, true, true, false]);
  expect(client.count("info")).toBe(4);
});

test("G1: a new connection is asked before anything is believed; a client that is away is not asked", async () => {
  const { client, check } = played();
  client.status = "reconnecting";
  client.replies["info"] = [REPLICA, PRIMARY];
  check.watch(100);
  vi.advanceTimersByTime(300);
  expect([client.count("info"), check.isDemoted]).toEqual([0, false]);
  client.status = "ready";
  client.emit("ready");
  expect([client.count("info"), check.isDemoted]).toEqual([1, true]);
  await turns();
  await expect(check.pass(new Deadline(100))).resolves.toBeUndefined();
  check.stop();
  expect(client.listenerCount("ready")).toBe(0);
  vi.advanceTimersByTime(1_000);
  expect(client.count("info")).toBe(2);
});

test("G1: a replica fails who waits, with 503; READONLY and MASTERDOWN say it too", async () => {
  const { client, check } = played();
  client.replies["info"] = [REPLICA];
  for (const reply of [
    "READONLY You can't write against a read only replica.",
    "MASTERDOWN Link with MASTER is down",
  ]) {
    check.note(new Error(reply));
    await expect(check.pass(new Deadline(100))).rejects.toMatchObject({ code: "ERR_REDIS_REPLY", status: 503 });
  }
  const other = played();
  other.check.note(new Error("ERR unknown command"));
  expect(other.check.isDemoted).toBe(false);
});
