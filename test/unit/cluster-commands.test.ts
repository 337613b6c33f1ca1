import { expect, test } from "vitest";
import type { ClusterClient, NodeClient } from "../../src/redis/client.js";
import { ClusterCommands } from "../../src/redis/cluster-commands.js";
import { ClusterNodes } from "../../src/redis/cluster-nodes.js";
import { Deadline } from "../../src/redis/deadline.js";
import { keySlot, SLOTS } from "../../src/redis/key-slot.js";
import { PlayedClient } from "../support/played-client.js";

/** A node's connection, played. */
class PlayedNode extends PlayedClient {
  override options: { host: string; port: number; readOnly?: boolean; keyPrefix?: string };

  constructor(port: number) {
    super();
    this.options = { host: "a", port };
    this.replies["mget"] = [["value"]];
    this.replies["pexpire"] = [[[null, 1]]];
  }
}

/** Two primaries, each with half of the slots. */
class PlayedCluster extends PlayedClient {
  readonly isCluster = true;
  readonly primaries = [new PlayedNode(1), new PlayedNode(2)];
  slots: string[][] = Array.from({ length: SLOTS }, (_, slot) => [slot < SLOTS / 2 ? "a:1" : "a:2", "a:3"]);
  refreshes = 0;

  readonly nodes = (): readonly NodeClient[] => this.primaries as unknown as NodeClient[];
  readonly refreshSlotsCache = (): void => {
    this.refreshes += 1;
  };
}

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
