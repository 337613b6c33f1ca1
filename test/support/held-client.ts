import type { RedisClient } from "../../src/index.js";
import { Gate } from "./gate.js";
import type { CommandTest } from "./tcp-proxy.js";

const HOLDABLE = new Set(["get", "mget", "del", "eval", "evalsha"]);

/** A client whose commands can be stopped before they are sent: forces the order in which concurrent requests reach Redis. */
export class HeldClient {
  readonly client: RedisClient;
  #holds: { readonly matches: CommandTest; readonly gate: Gate }[] = [];

  constructor(client: RedisClient) {
    this.client = new Proxy(client, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== "function") return member;
        if (typeof name !== "string" || !HOLDABLE.has(name)) return member.bind(target);
        return (...args: unknown[]) => this.#send([name, ...args.flat().map(String)], () => member.apply(target, args));
      },
    });
  }

  /** Stops the first command that matches until the gate is opened. */
  hold(matches: CommandTest): Gate {
    const gate = new Gate();
    this.#holds.push({ matches, gate });
    return gate;
  }

  async #send(words: readonly string[], send: () => unknown): Promise<unknown> {
    const index = this.#holds.findIndex(({ matches }) => matches(words));
    const [hold] = index < 0 ? [] : this.#holds.splice(index, 1);
    if (hold !== undefined) await hold.gate.pass();
    return send();
  }
}
