import type { RedisClient } from "./client.js";
import type { ClusterNodes } from "./cluster-nodes.js";
import type { Deadline } from "./deadline.js";
import { isNoScript, malformedReply } from "./failure.js";
import { type Script, TOO_LATE } from "./script.js";
import { ServerClock } from "./server-clock.js";

/** Sends something on the connection once it is ready; fails with a `RedisError`, at the deadline at the latest. */
export type Send = <T>(deadline: Deadline, send: (client: RedisClient) => Promise<T>) => Promise<T>;

/** Runs scripts, each with the time on its server's clock until which somebody waits for it. */
export class ScriptRunner {
  readonly #send: Send;
  readonly #nodes: ClusterNodes | undefined;
  readonly #clock = new ServerClock();

  constructor(send: Send, nodes: ClusterNodes | undefined) {
    this.#send = send;
    this.#nodes = nodes;
  }

  /** EVALSHA, then EVAL if, and only if, the server says it does not know the script. */
  async run<Reply>(
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

  async #runOnce<Reply>(
    script: Script<Reply>,
    keys: readonly string[],
    args: readonly string[],
    deadline: Deadline,
  ): Promise<readonly unknown[] | "too late"> {
    const key = keys[0] ?? "";
    const clock = this.#nodes?.clockOf(key) ?? this.#clock;
    const notAfterMs = clock.at(deadline) ?? (await this.#learnClock(clock, key, deadline));
    if (clock.isDue()) this.#learnClock(clock, key, deadline).catch(() => undefined);
    await this.#nodes?.whenAny(deadline);
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
    clock.note(Number(reply[1]), sentAtMs);
    return "too late";
  }

  async #learnClock(clock: ServerClock, key: string, deadline: Deadline): Promise<number> {
    await this.#send(deadline, async (client) => {
      const node = this.#nodes?.nodeOf(key);
      if (node === undefined) return await clock.learn(client, deadline);
      // A node that is gone may have a successor already: then the script goes there, and says so if it comes too late.
      await clock.learn(node, deadline).catch(() => clock.learn(client, deadline));
    });
    return clock.at(deadline) ?? 0;
  }
}
