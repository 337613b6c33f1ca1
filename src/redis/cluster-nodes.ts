import type { ClusterClient, NodeClient } from "./client.js";
import type { Deadline } from "./deadline.js";
import { keySlot } from "./key-slot.js";
import { ServerClock } from "./server-clock.js";

/** Less often than this, a lost primary is found too late; more often, the cluster is asked by every request that waits for it. */
const REFRESH_MS = 50;

const GONE = new Set(["close", "disconnecting", "end"]);

/**
 * Which primary has which key, as the client knows it at the moment. It may be wrong after a failover or while slots move; the
 * node then says so.
 */
export class ClusterNodes {
  readonly #client: ClusterClient;
  readonly #byName = new Map<string, NodeClient>();
  readonly #clocks = new Map<string, ServerClock>();
  #refreshedAtMs = Number.NEGATIVE_INFINITY;

  constructor(client: ClusterClient) {
    this.#client = client;
  }

  get keyPrefix(): string {
    return this.#client.options?.keyPrefix ?? this.#client.options?.redisOptions?.keyPrefix ?? "";
  }

  /** `host:port` of the primary that has this key; "" if none is known. */
  nameOf(key: string): string {
    return this.#client.slots[keySlot(this.keyPrefix + key)]?.[0] ?? "";
  }

  /** The connection to the primary that has this key. Never one to a replica: what that answers may be old. */
  nodeOf(key: string): NodeClient | undefined {
    const name = this.nameOf(key);
    const known = this.#byName.get(name);
    if (known !== undefined && isPrimary(known)) return known;
    const found = this.primaries().find(({ options: { host, port } }) => `${host}:${port}` === name);
    if (found === undefined) this.#byName.delete(name);
    else this.#byName.set(name, found);
    return found;
  }

  /** All primaries. */
  primaries(): NodeClient[] {
    return this.#client.nodes("master").filter(isPrimary);
  }

  /** A key as a node's own connection must be given it: with the prefix, unless that connection adds it. */
  keyFor(node: NodeClient, key: string): string {
    return node.options.keyPrefix ? key : this.keyPrefix + key;
  }

  /** The clock of the node that has this key: each has its own. */
  clockOf(key: string): ServerClock {
    const name = this.nameOf(key);
    let clock = this.#clocks.get(name);
    if (clock === undefined) {
      clock = new ServerClock();
      this.#clocks.set(name, clock);
    }
    return clock;
  }

  /** Resolves once a primary is known: knowing none, the client would ask a replica. */
  async whenAny(deadline: Deadline): Promise<void> {
    while (this.primaries().length === 0) {
      if (deadline.remainingMs <= REFRESH_MS) throw deadline.unavailableError();
      this.refresh();
      await new Promise((resolve) => setTimeout(resolve, REFRESH_MS));
    }
  }

  /** Has the client ask the cluster again who has what, but not all the time. */
  refresh(): void {
    const nowMs = performance.now();
    if (nowMs - this.#refreshedAtMs < REFRESH_MS) return;
    this.#refreshedAtMs = nowMs;
    this.#client.refreshSlotsCache();
  }
}

function isPrimary({ options, status }: NodeClient): boolean {
  return options.readOnly !== true && !GONE.has(status ?? "");
}
