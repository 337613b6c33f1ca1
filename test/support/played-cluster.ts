import type { NodeClient } from "../../src/redis/client.js";
import { SLOTS } from "../../src/redis/key-slot.js";
import { PlayedClient } from "./played-client.js";

/** A node's connection, played. */
export class PlayedNode extends PlayedClient {
  override options: { host: string; port: number; readOnly?: boolean; keyPrefix?: string };

  constructor(port: number) {
    super();
    this.options = { host: "a", port };
    this.replies["mget"] = [["value"]];
    this.replies["pexpire"] = [[[null, 1]]];
  }
}

/** Two primaries, each with half of the slots. */
export class PlayedCluster extends PlayedClient {
  readonly isCluster = true;
  readonly primaries = [new PlayedNode(1), new PlayedNode(2)];
  slots: string[][] = Array.from({ length: SLOTS }, (_, slot) => [slot < SLOTS / 2 ? "a:1" : "a:2", "a:3"]);
  refreshes = 0;

  readonly nodes = (): readonly NodeClient[] => this.primaries as unknown as NodeClient[];
  readonly refreshSlotsCache = (): void => {
    this.refreshes += 1;
  };
}
