import { expect, test } from "vitest";
import type { ClusterClient } from "../../src/redis/client.js";
import { ClusterCommands } from "../../src/redis/cluster-commands.js";
import { ClusterNodes } from "../../src/redis/cluster-nodes.js";
import { RedisConnection } from "../../src/redis/connection.js";
import { Deadline } from "../../src/redis/deadline.js";
import { keySlot, SLOTS } from "../../src/redis/key-slot.js";
import { defineScript } from "../../src/redis/script.js";
import { PlayedCluster, PlayedNode } from "../support/played-cluster.js";

function played(): { cluster: PlayedCluster; commands: ClusterCommands; nodes: ClusterNodes } {
  const cluster = new PlayedCluster();
  const client = cluster as unknown as ClusterClient;
  const nodes = new ClusterNodes(client);
  return { cluster, nodes, commands: new ClusterCommands(client, nodes) };
}

/** Keys that the first and the second node have. */
const [FIRST, OTHER_FIRST, SECOND] = (() => {
  const keys = Array.from({ length: 50 }, (_, n) => `k${n}`);
  const first = keys.filter((key) => keySlot(key) < SLOTS / 2);
  return [first[0] ?? "", first[1] ?? "", keys.find((key) => !first.includes(key)) ?? ""];
})();

test("what is asked in one moment goes to each node in one pipeline; a lone key as a plain MGET", async () => {
  const { cluster, commands } = played();
  const [first, second] = cluster.primaries;
  if (first !== undefined)
    first.replies["mget"] = [
      [
        [null, ["x"]],
        [null, ["y"]],
      ],
    ];
  const deadline = new Deadline(500);
  expect(await Promise.all([FIRST, SECOND, OTHER_FIRST].map((key) => commands.value(key, deadline)))).toEqual([
    "x",
    "value",
    "y",
  ]);
  expect(first?.asked).toEqual([["mget", `mget ${FIRST}`, `mget ${OTHER_FIRST}`]]);
  expect(second?.asked).toEqual([["mget", SECOND]]);
  expect(cluster.asked).toEqual([]);
});

test("C27: a prefix of the cluster is added where the node's connection does not add it", async () => {
  const { cluster, nodes, commands } = played();
  cluster.options = { keyPrefix: "app:" };
  const [first] = cluster.primaries;
  const key = Array.from({ length: 50 }, (_, n) => `k${n}`).find((one) => nodes.nameOf(one) === "a:1") ?? "";
  await commands.value(key, new Deadline(500));
  if (first !== undefined) first.options.keyPrefix = "app:";
  await commands.value(key, new Deadline(500));
  expect(first?.asked).toEqual([
    ["mget", `app:${key}`],
    ["mget", key],
  ]);
});

test("G1: a node that is a replica, or has become one meanwhile, is not believed", async () => {
  const { cluster, commands } = played();
  const [first] = cluster.primaries;
  if (first === undefined) throw new Error("no node");
  first.options.readOnly = true;
  await expect(commands.value(FIRST, new Deadline(120))).rejects.toMatchObject({ code: "ERR_REDIS_UNAVAILABLE" });
  expect([first.asked, cluster.asked]).toEqual([[], []]);
  first.options.readOnly = false;
  first.replies["mget"] = [
    () => {
      first.options.readOnly = true;
      return ["old"];
    },
  ];
  await expect(commands.value(FIRST, new Deadline(120))).rejects.toMatchObject({ status: 503 });
  expect(first.count("mget")).toBe(1);
});

test("G7: a node that is away, or does not serve the key yet, is asked again until the deadline", async () => {
  const { cluster, commands } = played();
  const [first] = cluster.primaries;
  if (first === undefined) throw new Error("no node");
  first.replies["mget"] = [new Error("Connection is closed."), new Error("CLUSTERDOWN Hash slot not served"), ["new"]];
  expect(await commands.value(FIRST, new Deadline(2_000))).toBe("new");
  expect(cluster.refreshes).toBeGreaterThan(0);
  first.replies["mget"] = [new Error("CLUSTERDOWN Hash slot not served")];
  await expect(commands.value(FIRST, new Deadline(120))).rejects.toMatchObject({ code: "ERR_REDIS_UNAVAILABLE" });
  first.replies["mget"] = [new Error("NOPERM no"), ["not asked"]];
  await expect(commands.value(FIRST, new Deadline(500))).rejects.toMatchObject({ code: "ERR_REDIS_REPLY" });
});

test("C25: a redirection is followed through the client, but never when it knows no primary", async () => {
  const { cluster, commands } = played();
  const [first] = cluster.primaries;
  if (first === undefined) throw new Error("no node");
  first.replies["mget"] = [new Error("ASK 1 a:2")];
  cluster.replies["mget"] = [[[null, ["moved"]]]];
  expect(await commands.value(FIRST, new Deadline(500))).toBe("moved");
  expect(cluster.asked).toEqual([["mget", `mget ${FIRST}`]]);
  first.replies["mget"] = [
    () => {
      for (const { options } of cluster.primaries) options.readOnly = true;
      throw new Error("MOVED 1 a:2");
    },
  ];
  await expect(commands.value(FIRST, new Deadline(120))).rejects.toMatchObject({ status: 503 });
  expect(cluster.asked.length).toBe(1);
});

test("several commands on a key come back together, and the first that fails fails them", async () => {
  const { cluster, commands } = played();
  const [first] = cluster.primaries;
  const both = [
    ["pexpire", "10", "GT"],
    ["pexpireat", "20", "LT"],
  ] as const;
  if (first !== undefined)
    first.replies["pexpire"] = [
      [
        [null, 1],
        [null, 0],
      ],
    ];
  expect(await commands.run(FIRST, both, new Deadline(500))).toEqual([1, 0]);
  expect(first?.asked).toEqual([["pexpire", `pexpire ${FIRST} 10 GT`, `pexpireat ${FIRST} 20 LT`]]);
  if (first !== undefined)
    first.replies["pexpire"] = [
      [
        [null, 1],
        [new Error("OOM no"), null],
      ],
    ];
  await expect(commands.run(FIRST, both, new Deadline(500))).rejects.toMatchObject({ code: "ERR_REDIS_REPLY" });
  if (first !== undefined) first.replies["pexpire"] = [null];
  await expect(commands.run(FIRST, both, new Deadline(500))).rejects.toMatchObject({ code: "ERR_REDIS_REPLY" });
});

test("G7: without any primary a script waits, and fails in its time", async () => {
  const { cluster, nodes } = played();
  cluster.primaries.length = 0;
  await expect(nodes.whenAny(new Deadline(120))).rejects.toMatchObject({ outcome: "not-sent" });
  const waiting = nodes.whenAny(new Deadline(2_000));
  cluster.primaries.push(new PlayedNode(1));
  await expect(waiting).resolves.toBeUndefined();
});

test("scripts carry the time of the node that runs them; one that has none yet is asked for it first", async () => {
  const { cluster } = played();
  const [first, second] = cluster.primaries;
  if (first === undefined || second === undefined) throw new Error("no nodes");
  first.replies["time"] = [["1000", "0"]];
  second.replies["time"] = [["5000", "0"]];
  cluster.replies["evalsha"] = [[1]];
  const redis = new RedisConnection(cluster.asClient, 2_000);
  const script = defineScript<true>({ name: "played", lua: "", decode: () => true });
  for (const key of [FIRST, SECOND, OTHER_FIRST]) await redis.run(script, key, []);
  const notAfter = cluster.asked.map((words) => Number(words.at(-1)));
  expect(notAfter.map((ms) => Math.round(ms / 1_000))).toEqual([1_002, 5_002, 1_002]);
  expect([first.count("time"), second.count("time"), cluster.count("time")]).toEqual([1, 1, 0]);
});

test("a node whose clock cannot be asked for is not waited for: the script says itself when it is too late", async () => {
  const { cluster } = played();
  const [first] = cluster.primaries;
  if (first === undefined) throw new Error("no node");
  first.replies["time"] = [new Error("Connection is closed.")];
  cluster.replies["time"] = [["1000", "0"]];
  cluster.replies["evalsha"] = [[-1, "7000000"], [1]];
  const redis = new RedisConnection(cluster.asClient, 2_000);
  const script = defineScript<true>({ name: "played", lua: "", decode: () => true });
  expect(await redis.run(script, FIRST, [])).toBe(true);
  const notAfter = cluster.asked.filter(([name]) => name === "evalsha").map((words) => Number(words.at(-1)));
  expect(notAfter.map((ms) => Math.round(ms / 1_000))).toEqual([1_002, 7_002]);
});
