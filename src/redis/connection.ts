import { RedisError } from "../errors.js";
import type { RedisClient } from "./client.js";
import { Deadline } from "./deadline.js";
import { isFromReplica, isNoScript, isOutcomeUnknown, malformedReply, replicaError, toRedisError } from "./failure.js";
import { Readiness } from "./readiness.js";
import { Reconnections } from "./reconnections.js";
import { type Script, TOO_LATE } from "./script.js";
import { ServerClock } from "./server-clock.js";

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
  readonly #client: RedisClient;
  readonly #readiness: Readiness;
  readonly #reconnections: Reconnections;
  readonly #timeoutMs: number;
  readonly #clock = new ServerClock();
  #closed = false;
  /** A server has said that it is a replica: nothing it answers is believed until one says that it is a primary. */
  #isDemoted = false;
  #probe: Promise<void> | undefined;

  constructor(client: RedisClient, timeoutMs: number) {
    this.#client = client;
    this.#readiness = new Readiness(client);
    this.#reconnections = new Reconnections(client);
    this.#timeoutMs = timeoutMs;
  }

  /** What the client itself puts before every key; SCAN patterns and results are not covered by it. */
  get keyPrefix(): string {
    return this.#client.options?.keyPrefix ?? "";
  }

  /** Whether keys are spread over nodes, so that a command may only name one. */
  get isClustered(): boolean {
    return this.#client.isCluster === true;
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
  }

  /** Calls back each time the client has connected anew; answers a function that ends it. */
  onReady(listener: () => void): () => void {
    this.#client.on("ready", listener);
    return () => this.#client.removeListener("ready", listener);
  }

  /** Resolves once commands can be sent. */
  async whenReady(deadline: Deadline = this.deadline()): Promise<void> {
    await this.#readiness.wait(deadline);
  }

  mget(keys: string[], deadline: Deadline = this.deadline()): Promise<(string | null)[]> {
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
   * Runs a script: EVALSHA, then EVAL if, and only if, the server says it does not know it. Any other failure is of
   * unknown outcome and is passed up without a second try. A script that reaches the server after the deadline, sent again by
   * the driver once the connection is back, does nothing.
   */
  run<Reply>(
    script: Script<Reply>,
    key: string,
    args: readonly string[],
    deadline: Deadline = this.deadline(),
  ): Promise<Reply> {
    return this.runOver(script, [key], args, deadline);
  }

  /** As `run`, over several keys. On a cluster one key may only be given: two could be on different nodes. */
  async runOver<Reply>(
    script: Script<Reply>,
    keys: readonly string[],
    args: readonly string[],
    deadline: Deadline,
  ): Promise<Reply> {
    let reply = await this.#runOnce(script, keys, args, deadline);
    // The server's clock was stepped, or it is another server's: now it is known, and nothing was done yet.
    if (reply === "too late" && deadline.remainingMs > 0) reply = await this.#runOnce(script, keys, args, deadline);
    if (reply === "too late") throw deadline.tooLateError();
    const decoded = script.decode(Number(reply[0]), reply.slice(1));
    if (decoded === undefined) throw malformedReply(script.name);
    return decoded;
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

  async #runOnce<Reply>(
    script: Script<Reply>,
    keys: readonly string[],
    args: readonly string[],
    deadline: Deadline,
  ): Promise<readonly unknown[] | "too late"> {
    const notAfterMs = this.#clock.at(deadline) ?? (await this.#learnClock(deadline));
    if (this.#clock.isDue()) this.#learnClock(deadline).catch(() => undefined);
    const sentAtMs = performance.now();
    const reply = await this.#send(deadline, async (client) => {
      const keysAndArgs = [...keys, ...args, String(notAfterMs)];
      try {
        return await client.evalsha(script.sha1, keys.length, ...keysAndArgs);
      } catch (error) {
        // Past the deadline nobody waits any more: what has not been sent yet must not take effect later.
        if (!isNoScript(error) || deadline.remainingMs === 0) throw error;
        return await client.eval(script.lua, keys.length, ...keysAndArgs);
      }
    });
    if (!Array.isArray(reply)) throw malformedReply(script.name);
    if (Number(reply[0]) !== TOO_LATE) return reply;
    this.#clock.note(Number(reply[1]), sentAtMs);
    return "too late";
  }

  async #learnClock(deadline: Deadline): Promise<number> {
    await this.#send(deadline, (client) => this.#clock.learn(client, deadline));
    return this.#clock.at(deadline) ?? 0;
  }

  /** Extends many lives in one round trip; a failure fails them all. */
  async extend(extensions: readonly LifeExtension[], deadline: Deadline = this.deadline()): Promise<void> {
    const commands: string[][] = [];
    for (const { key, ttlMs, notAfterMs } of extensions) {
      commands.push(["pexpire", key, String(ttlMs), "GT"]);
      if (notAfterMs !== undefined) commands.push(["pexpireat", key, String(notAfterMs), "LT"]);
    }
    await this.#pipeline(deadline, "PEXPIRE", commands);
  }

  /** Deletes many keys in one round trip. */
  async deleteMany(keys: readonly string[]): Promise<void> {
    const commands = keys.map((key) => ["unlink", key]);
    await this.#pipeline(this.deadline(), "UNLINK", commands);
  }

  /** Waits until so many replicas have all that this connection wrote before; how many have when the time is over. */
  async waitForReplicas(replicas: number, waitMs: number): Promise<number> {
    const deadline = new Deadline(this.#timeoutMs + waitMs);
    const [acknowledged] = await this.#pipeline(deadline, "WAIT", [["wait", String(replicas), String(waitMs)]]);
    if (!Number.isInteger(Number(acknowledged))) throw malformedReply("WAIT");
    return Number(acknowledged);
  }

  /** One step of a SCAN over full key names (the client's `keyPrefix` included). */
  async scan(cursor: string, pattern: string, count: number): Promise<{ cursor: string; keys: string[] }> {
    const command = ["scan", cursor, "MATCH", pattern, "COUNT", String(count)];
    const [result] = await this.#pipeline(this.deadline(), "SCAN", [command]);
    if (!Array.isArray(result) || !Array.isArray(result[1])) throw malformedReply("SCAN");
    return { cursor: String(result[0]), keys: result[1].map(String) };
  }

  /** Sends commands together and answers their results; the first that failed fails all. */
  async #pipeline(deadline: Deadline, name: string, commands: string[][]): Promise<unknown[]> {
    const replies = await this.#send(deadline, (client) => client.pipeline(commands).exec());
    if (!Array.isArray(replies)) throw malformedReply(name);
    return replies.map(([error, result]) => {
      if (error != null) throw this.#failure(error);
      return result;
    });
  }

  async #send<T>(deadline: Deadline, send: (client: RedisClient) => Promise<T>): Promise<T> {
    if (this.#closed) {
      throw new RedisError("ERR_STORE_CLOSED", "not-sent", "The store was closed; create a new one");
    }
    if (!this.#readiness.isReady) await this.#readiness.wait(deadline);
    if (this.#isDemoted) await this.#checkRole(deadline);
    try {
      return await deadline.limit(send(this.#client));
    } catch (error) {
      throw this.#failure(error);
    }
  }

  #failure(error: unknown): RedisError {
    if (isFromReplica(error)) this.#isDemoted = true;
    return toRedisError(error);
  }

  /** A demoted primary goes on answering reads, from data that may lack the last logouts. All who wait share one question. */
  async #checkRole(deadline: Deadline): Promise<void> {
    this.#probe ??= this.#askRole().finally(() => {
      this.#probe = undefined;
    });
    await deadline.limit(this.#probe);
  }

  async #askRole(): Promise<void> {
    const asked = this.#client.pipeline([["info", "replication"]]).exec();
    const replies = await this.deadline()
      .limit(asked)
      .catch((error: unknown) => {
        throw toRedisError(error);
      });
    const [error, text] = replies?.[0] ?? [null, undefined];
    if (error != null) throw toRedisError(error);
    if (!/^role:master\r?$/m.test(String(text))) throw replicaError();
    this.#isDemoted = false;
  }
}
