import type { LifeExtension, RedisConnection } from "../../src/redis/connection.js";
import { Moment } from "../../src/redis/moment.js";

/** A Redis of which only what one class asks is played: what stands under which key, and what each script answers. */
export class PlayedConnection {
  readonly values = new Map<string, string>();
  /** What was asked, in order: `mget a b`, `raise-generation key args`, `extend n`. */
  readonly asked: string[] = [];
  /** What scripts answer, by name; an `Error` fails, a function is asked each time. */
  readonly replies: Record<string, unknown> = {};
  /** How many of the next MGETs or extensions fail, after so many that do not. */
  failing: { after: number } | undefined;

  deleteFailure: Error | undefined;

  readonly deadline = (): object => ({ endsAtMs: 2_000 });

  async mget(keys: readonly string[]): Promise<(string | null)[]> {
    this.asked.push(["mget", ...keys].join(" "));
    this.#failIfTold();
    return keys.map((key) => this.values.get(key) ?? null);
  }

  readonly moment = new Moment({});

  readonly isClustered = false;

  readonly nodeNameOf = (): string => "";

  readonly refusal = (text: string): Error => new Error(text);

  run(script: { readonly name: string }, key: string, args: readonly string[]): Promise<unknown> {
    return this.runOver(script, [key], args);
  }

  async runOver(script: { readonly name: string }, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    this.asked.push([script.name, ...keys, ...args.map((arg) => JSON.stringify(arg))].join(" "));
    const played = this.replies[script.name];
    const reply: unknown = typeof played === "function" ? await played() : played;
    if (reply instanceof Error) throw reply;
    return reply;
  }

  async delete(key: string): Promise<boolean> {
    this.asked.push(`delete ${key}`);
    if (this.deleteFailure !== undefined) throw this.deleteFailure;
    return true;
  }

  async extend(batch: readonly LifeExtension[]): Promise<void> {
    this.asked.push(`extend ${batch.length}`);
    this.#failIfTold();
  }

  #failIfTold(): void {
    if (this.failing === undefined) return;
    if (this.failing.after === 0) throw new Error("played failure");
    this.failing.after -= 1;
  }

  get asRedis(): RedisConnection {
    return this as unknown as RedisConnection;
  }
}
