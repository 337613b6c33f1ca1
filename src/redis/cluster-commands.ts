import type { ClusterClient, NodeClient } from "./client.js";
import type { ClusterNodes } from "./cluster-nodes.js";
import type { Deadline } from "./deadline.js";
import { isPassing, isRedirection, malformedReply, toRedisError } from "./failure.js";
import { Gathering } from "./gathering.js";
import { Moment } from "./moment.js";

/** A command without its key, which stands second: `["pexpire", "1000", "GT"]`. */
export type KeylessCommand = readonly [name: string, ...args: string[]];

/** Commands on one key, and what the node answered. */
interface Request {
  readonly key: string;
  readonly commands: readonly KeylessCommand[];
  replies: unknown[];
  error: unknown;
}

/** Requests per pipeline. */
const MAX_BATCH = 200;

/** How long to wait before a node that did not serve a key is asked again. */
const PAUSE_MS = 50;

/**
 * Sends commands to the nodes that have their keys; all that go to one node in one moment share a round trip, and a node that is
 * gone holds up only its own. Only for what may be repeated: reads, expiries, deletions. While a slot moves, or a replica takes a
 * lost primary's place, they are repeated until the deadline.
 *
 * The client's own routing is not used: when it knows no primary at all it asks any replica instead, which answers with old data.
 */
export class ClusterCommands {
  readonly #client: ClusterClient;
  readonly #nodes: ClusterNodes;
  readonly #gatherings = new WeakMap<NodeClient, Gathering<Request>>();

  constructor(client: ClusterClient, nodes: ClusterNodes) {
    this.#client = client;
    this.#nodes = nodes;
  }

  /** The value of a key; `null` if there is none, or it is no string. */
  async value(key: string, deadline: Deadline): Promise<string | null> {
    const [reply] = await this.run(key, [["mget"]], deadline);
    if (!Array.isArray(reply) || reply.length !== 1) throw malformedReply("MGET");
    return reply[0];
  }

  /** Runs commands on one key and answers their replies; the first that fails fails all. */
  async run(key: string, commands: readonly KeylessCommand[], deadline: Deadline): Promise<unknown[]> {
    const request: Request = { key, commands, replies: [], error: undefined };
    for (;;) {
      await this.#ask(request);
      const { error } = request;
      if (error === undefined) return request.replies;
      if (!isPassing(error) || deadline.remainingMs <= PAUSE_MS) throw toRedisError(error);
      if (isRedirection(error) && (await this.#followed(request))) return request.replies;
      this.#nodes.refresh();
      await pause();
    }
  }

  async #ask(request: Request): Promise<void> {
    const node = this.#nodes.nodeOf(request.key);
    request.error = undefined;
    if (node === undefined) {
      request.error = new Error("no primary is known for a key");
      return;
    }
    await this.#gatheringOf(node).add(request);
    // It has become a replica since, and may have been one when it answered.
    if (node.options.readOnly === true) request.error ??= new Error("the node has become a replica");
  }

  #gatheringOf(node: NodeClient): Gathering<Request> {
    let gathering = this.#gatherings.get(node);
    if (gathering === undefined) {
      gathering = new Gathering(new Moment(node), MAX_BATCH, (requests) => this.#send(node, requests));
      this.#gatherings.set(node, gathering);
    }
    return gathering;
  }

  async #send(node: NodeClient, requests: readonly Request[]): Promise<void> {
    const [first] = requests;
    try {
      if (requests.length === 1 && first?.commands[0]?.[0] === "mget") {
        first.replies = [await node.mget([this.#nodes.keyFor(node, first.key)])];
        return;
      }
      const replies = await node.pipeline(requests.flatMap((request) => this.#commandsFor(node, request))).exec();
      let at = 0;
      for (const request of requests) {
        settle(request, replies?.slice(at, at + request.commands.length));
        at += request.commands.length;
      }
    } catch (error) {
      for (const request of requests) request.error = error;
    }
  }

  #commandsFor(node: NodeClient, { key, commands }: Request): string[][] {
    const fullKey = this.#nodes.keyFor(node, key);
    return commands.map(([name, ...args]) => [name, fullKey, ...args]);
  }

  /** The key is elsewhere: the client knows how to follow it, and learns where its slot is. True if it could. */
  async #followed(request: Request): Promise<boolean> {
    const commands = request.commands.map(([name, ...args]) => [name, request.key, ...args]);
    // Without any primary the client would ask a replica.
    if (this.#nodes.primaries().length === 0) return false;
    settle(request, (await this.#client.pipeline(commands).exec()) ?? undefined);
    return request.error === undefined && this.#nodes.primaries().length > 0;
  }
}

function settle(request: Request, replies: readonly [Error | null, unknown][] | undefined): void {
  request.error = undefined;
  if (replies === undefined || replies.length !== request.commands.length) {
    request.error = malformedReply("a pipeline");
    return;
  }
  request.replies = replies.map(([, reply]) => reply);
  request.error = replies.find(([error]) => error != null)?.[0] ?? undefined;
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}
