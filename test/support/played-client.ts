import { EventEmitter } from "node:events";
import type { RedisClient } from "../../src/redis/client.js";

/** A Redis client that only notes what it is asked; the test says what comes back. */
export class PlayedClient extends EventEmitter {
  status: string | undefined = "ready";
  options: { readonly keyPrefix?: string } | undefined;
  /** What was asked, in order: `mget a b`, `evalsha …`. */
  readonly asked: string[][] = [];
  /** What comes back for each command, in order; the last for ever. An `Error` rejects, a function is called. */
  readonly replies: Record<string, unknown[]> = { time: [["1000", "0"]] };

  readonly mget = (keys: string[]): Promise<never> => this.#answer("mget", keys);
  readonly del = (key: string): Promise<never> => this.#answer("del", [key]);
  readonly get = (key: string): Promise<never> => this.#answer("get", [key]);
  readonly pexpire = (...args: (string | number)[]): Promise<never> => this.#answer("pexpire", args.map(String));
  readonly pexpireat = (...args: (string | number)[]): Promise<never> => this.#answer("pexpireat", args.map(String));
  readonly time = (): Promise<never> => this.#answer("time", []);
  readonly evalsha = (sha1: string, ...rest: (string | number)[]): Promise<never> =>
    this.#answer("evalsha", [sha1, ...rest.map(String)]);
  readonly eval = (lua: string, ...rest: (string | number)[]): Promise<never> =>
    this.#answer("eval", [lua, ...rest.map(String)]);
  readonly pipeline = (commands: string[][] = []): { exec(): Promise<never> } => ({
    exec: () =>
      this.#answer(
        commands[0]?.[0] ?? "nothing",
        commands.map((command) => command.join(" ")),
      ),
  });

  disconnect(): void {
    this.status = "end";
  }

  /** How often a command was asked. */
  count(name: string): number {
    return this.asked.filter(([command]) => command === name).length;
  }

  get asClient(): RedisClient {
    return this as unknown as RedisClient;
  }

  async #answer(name: string, args: string[]): Promise<never> {
    this.asked.push([name, ...args]);
    const replies = this.replies[name] ?? [];
    const played = replies.length > 1 ? replies.shift() : replies[0];
    const reply: unknown = typeof played === "function" ? await played() : played;
    if (reply instanceof Error) throw reply;
    return reply as never;
  }
}
