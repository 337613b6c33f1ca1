import { RedisError } from "../errors.js";
import { asCluster, type RedisClient } from "./client.js";
import { ClusterCommands, type KeylessCommand } from "./cluster-commands.js";
import { ClusterNodes } from "./cluster-nodes.js";
import { Deadline } from "./deadline.js";
import { isOutcomeUnknown, malformedReply, toRedisError } from "./failure.js";
import { Moment } from "./moment.js";
import { PrimaryCheck } from "./primary-check.js";
import { Readiness } from "./readiness.js";
import { Reconnections } from "./reconnections.js";
import type { Script } from "./script.js";
import { ScriptRunner } from "./script-runner.js";

/** Renews a key's life; never shortens one and never creates a key. */
export interface LifeExtension {
  readonly key: string;
  /** New time to live from now, in milliseconds on Redis' clock. */
  readonly ttlMs: number;
  /** Latest end of the key's life, as epoch milliseconds on Redis' clock. */
  readonly notAfterMs?: number | undefined;
}

/**
 * The seam between the core and the user's client: keys first, strings in, decoded replies out, each call bounded by a
 * deadline and failing with a `RedisError` only. The client is never configured, listened to for long, or closed.
 */
export class RedisConnection {
  /** When gathered commands are sent, of all kinds together. */
  readonly moment: Moment;
  readonly #client: RedisClient;
  readonly #readiness: Readiness;
  readonly #reconnections: Reconnections;
  readonly #timeoutMs: number;
  readonly #primary: PrimaryCheck;
  readonly #nodes: ClusterNodes | undefined;
  readonly #perNode: ClusterCommands | undefined;
  readonly #scripts: ScriptRunner;
  #closed = false;

  constructor(client: RedisClient, timeoutMs: number) {
    this.#client = client;
    this.moment = new Moment(client);
    this.#readiness = new Readiness(client);
    this.#reconnections = new Reconnections(client);
    this.#timeoutMs = timeoutMs;
    this.#primary = new PrimaryCheck(client, timeoutMs);
    const cluster = asCluster(client);
    if (cluster !== undefined) {
      this.#nodes = new ClusterNodes(cluster);
      this.#perNode = new ClusterCommands(cluster, this.#nodes);
    }
    this.#scripts = new ScriptRunner((deadline, send) => this.#send(deadline, send), this.#nodes);
  }

  /** What the client itself puts before every key; SCAN patterns and results are not covered by it. */
  get keyPrefix(): string {
    return this.#nodes?.keyPrefix ?? this.#client.options?.keyPrefix ?? "";
  }

  /** Whether keys are spread over nodes, so that a command may only name one. */
  get isClustered(): boolean {
    return this.#nodes !== undefined;
  }

  /** What the fate of a key's commands depends on: the node that has it; "" where there is one server for all. */
  nodeNameOf(key: string): string {
    return this.#nodes?.nameOf(key) ?? "";
  }

  /**
   * Asks every so often whether the server is (still) a primary. On a cluster there is nothing to ask: a node that knows that
   * it was demoted serves no reads.
   */
  watchPrimary(intervalMs: number | undefined): void {
    if (intervalMs !== undefined && this.#nodes === undefined) this.#primary.watch(intervalMs);
  }

  /** The failure behind an error reply that a script passed on as text. */
  refusal(text: string): RedisError {
    return this.#failure(new Error(text));
  }

  deadline(): Deadline {
    return new Deadline(this.#timeoutMs);
  }

  close(): void {
    this.#closed = true;
    this.#primary.stop();
  }

  /** Calls back each time the client has connected anew, to a node of a cluster too; answers a function that ends it. */
  onReady(listener: () => void): () => void {
    const events = this.isClustered ? ["ready", "+node", "-node"] : ["ready"];
    for (const event of events) this.#client.on(event, listener);
    return () => {
      for (const event of events) this.#client.removeListener(event, listener);
    };
  }

  /** Resolves once commands can be sent. */
  async whenReady(deadline: Deadline = this.deadline()): Promise<void> {
    await this.#readiness.wait(deadline);
  }

  /** The values of keys, at one moment where there is one server; on a cluster, each when its node is asked. */
  mget(keys: string[], deadline: Deadline = this.deadline()): Promise<(string | null)[]> {
    const perNode = this.#perNode;
    if (perNode !== undefined) {
      return this.#send(deadline, () => Promise.all(keys.map((key) => perNode.value(key, deadline))));
    }
    return this.#send(deadline, async (client) => {
      const reply = await client.mget(keys);
      if (!Array.isArray(reply) || reply.length !== keys.length) throw malformedReply("MGET");
      return reply;
    });
  }

  /** Deletes a key; true if it was there. */
  async delete(key: string, deadline: Deadline = this.deadline()): Promise<boolean> {
    const reply = await this.#send(deadline, (client) => client.del(key));
    return Number(reply) > 0;
  }

  /**
   * Runs a script. A failure is of unknown outcome and is passed up without a second try. A script that reaches the server after
   * the deadline, sent again by the driver once the connection is back, does nothing.
   */
  run<Reply>(
    script: Script<Reply>,
    key: string,
    args: readonly string[],
    deadline: Deadline = this.deadline(),
  ): Promise<Reply> {
    return this.#scripts.run(script, [key], args, deadline);
  }

  /** As `run`, over several keys. On a cluster one key may only be given: two could be on different nodes. */
  runOver<Reply>(
    script: Script<Reply>,
    keys: readonly string[],
    args: readonly string[],
    deadline: Deadline,
  ): Promise<Reply> {
    return this.#scripts.run(script, keys, args, deadline);
  }

  /**
   * As `run`, for scripts that recognise their caller by a nonce and do nothing twice: after an unknown outcome (a lost reply)
   * they are asked once more, in the same time. So they are when the client has connected anew: without
   * `autoResendUnfulfilledCommands` a driver never says that a command was lost with its connection.
   */
  async runRecognised<Reply>(script: Script<Reply>, key: string, args: readonly string[]): Promise<Reply> {
    const deadline = this.deadline();
    // From here on a new connection means that the command went out on one before.
    if (!this.#closed) await this.#readiness.wait(deadline);
    const connection = this.#reconnections.next();
    try {
      const asked = this.run(script, key, args, deadline).then((reply) => ({ reply }));
      const answer = await Promise.race([asked, connection.isThere]);
      if (answer !== undefined) return answer.reply;
    } catch (error) {
      if (!isOutcomeUnknown(error) || deadline.remainingMs === 0) throw error;
    } finally {
      connection.stop();
    }
    return await this.run(script, key, args, deadline);
  }

  /** Extends many lives in one round trip to each server; a failure fails them all. */
  async extend(extensions: readonly LifeExtension[], deadline: Deadline = this.deadline()): Promise<void> {
    if (this.#perNode !== undefined) return await this.#extendPerNode(this.#perNode, extensions, deadline);
    await this.#send(deadline, (client) =>
      this.moment.inOneWrite(() =>
        // Not a pipeline: ioredis' costs more than the commands. Not a script: in Redis it costs three times as much.
        Promise.all(
          extensions.flatMap(({ key, ttlMs, notAfterMs }) => {
            const extended = client.pexpire(key, ttlMs, "GT");
            return notAfterMs === undefined ? extended : [extended, client.pexpireat(key, notAfterMs, "LT")];
          }),
        ),
      ),
    );
  }

  async #extendPerNode(
    perNode: ClusterCommands,
    extensions: readonly LifeExtension[],
    deadline: Deadline,
  ): Promise<void> {
    const extend = ({ key, ttlMs, notAfterMs }: LifeExtension): Promise<unknown> => {
      const commands: KeylessCommand[] = [["pexpire", String(ttlMs), "GT"]];
      if (notAfterMs !== undefined) commands.push(["pexpireat", String(notAfterMs), "LT"]);
      return perNode.run(key, commands, deadline);
    };
    await this.#send(deadline, () => Promise.all(extensions.map(extend)));
  }

  /** Deletes many keys in one round trip to each server. */
  async deleteMany(keys: readonly string[]): Promise<void> {
    const deadline = this.deadline();
    const perNode = this.#perNode;
    if (perNode !== undefined) {
      await this.#send(deadline, () => Promise.all(keys.map((key) => perNode.run(key, [["unlink"]], deadline))));
      return;
    }
    const commands = keys.map((key) => ["unlink", key]);
    await this.#pipeline(deadline, "UNLINK", commands);
  }

  /** Waits until so many replicas have all that this connection wrote before; how many have when the time is over. */
  async waitForReplicas(replicas: number, waitMs: number): Promise<number> {
    const deadline = new Deadline(this.#timeoutMs + waitMs);
    const [acknowledged] = await this.#pipeline(deadline, "WAIT", [["wait", String(replicas), String(waitMs)]]);
    if (!Number.isInteger(Number(acknowledged))) throw malformedReply("WAIT");
    return Number(acknowledged);
  }

  /** The servers that share all keys among them, each to be scanned for itself. */
  async scanned(): Promise<readonly RedisClient[]> {
    if (this.#nodes === undefined) return [this.#client];
    await this.whenReady();
    return this.#nodes.primaries();
  }

  /** One step of a SCAN of one server over full key names (the client's `keyPrefix` included). */
  async scan(
    cursor: string,
    pattern: string,
    count: number,
    server: RedisClient = this.#client,
  ): Promise<{ cursor: string; keys: string[] }> {
    const command = ["scan", cursor, "MATCH", pattern, "COUNT", String(count)];
    const [result] = await this.#pipeline(this.deadline(), "SCAN", [command], server);
    if (!Array.isArray(result) || !Array.isArray(result[1])) throw malformedReply("SCAN");
    return { cursor: String(result[0]), keys: result[1].map(String) };
  }

  /** Sends commands together and answers their results; the first that failed fails all. */
  async #pipeline(
    deadline: Deadline,
    name: string,
    commands: string[][],
    server: RedisClient = this.#client,
  ): Promise<unknown[]> {
    const replies = await this.#send(deadline, () => server.pipeline(commands).exec());
    if (!Array.isArray(replies)) throw malformedReply(name);
    return replies.map(([error, result]) => {
      if (error != null) throw this.#failure(error);
      return result;
    });
  }

  /** Sends at once where it can: what is sent in one moment then shares a write. */
  #send<T>(deadline: Deadline, send: (client: RedisClient) => Promise<T>): Promise<T> {
    if (this.#closed || !this.#readiness.isReady || this.#primary.isDemoted) return this.#sendLater(deadline, send);
    return this.#sendNow(deadline, send);
  }

  async #sendLater<T>(deadline: Deadline, send: (client: RedisClient) => Promise<T>): Promise<T> {
    if (this.#closed) {
      throw new RedisError("ERR_STORE_CLOSED", "not-sent", "The store was closed; create a new one");
    }
    if (!this.#readiness.isReady) await this.#readiness.wait(deadline);
    if (this.#primary.isDemoted) await this.#primary.pass(deadline);
    return await this.#sendNow(deadline, send);
  }

  #sendNow<T>(deadline: Deadline, send: (client: RedisClient) => Promise<T>): Promise<T> {
    return deadline.limit(
      started(() => send(this.#client)),
      this.#failure,
    );
  }

  readonly #failure = (error: unknown): RedisError => {
    // In a cluster another node may be the primary by now, and the client follows it.
    if (this.#nodes === undefined) this.#primary.note(error);
    return toRedisError(error);
  };
}

/** Some clients throw at once what others reject with. */
function started<T>(send: () => Promise<T>): Promise<T> {
  try {
    return send();
  } catch (error) {
    return Promise.reject(error);
  }
}
