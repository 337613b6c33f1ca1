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
    const key = keys[0] ?? "";
    const clock = this.#nodes?.clockOf(key) ?? this.#clock;
    for (let isFirst = true; ; isFirst = false) {
      const notAfterMs = clock.at(deadline) ?? (await this.#learnClock(clock, key, deadline));
      if (clock.isDue()) this.#learnClock(clock, key, deadline).catch(() => undefined);
      if (this.#nodes !== undefined) await this.#nodes.whenAny(deadline);
      const sentAtMs = performance.now();
      const keysAndArgs = [...keys, ...args, String(notAfterMs)];
      const reply = await this.#send(deadline, (client) =>
        evaluate(client, script, keys.length, keysAndArgs, deadline),
      );
      if (!Array.isArray(reply)) throw malformedReply(script.name);
      const status = Number(reply[0]);
      if (status !== TOO_LATE) {
        const decoded = script.decode(status, reply.slice(1));
        if (decoded === undefined) throw malformedReply(script.name);
        return decoded;
      }
      // The server's clock was stepped, or it is another server's: now it is known, and nothing was done yet.
      clock.note(Number(reply[1]), sentAtMs);
      if (!isFirst || deadline.remainingMs === 0) throw deadline.tooLateError();
    }
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

function evaluate(
  client: RedisClient,
  script: Script<unknown>,
  keyCount: number,
  keysAndArgs: string[],
  deadline: Deadline,
): Promise<unknown> {
  return client.evalsha(script.sha1, keyCount, ...keysAndArgs).catch((error: unknown) => {
    // Past the deadline nobody waits any more: what has not been sent yet must not take effect later.
    if (!isNoScript(error) || deadline.remainingMs === 0) throw error;
    return client.eval(script.lua, keyCount, ...keysAndArgs);
  });
}
