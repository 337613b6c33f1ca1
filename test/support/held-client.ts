import type { RedisClient } from "../../src/index.js";
import { Gate } from "./gate.js";
import type { CommandTest } from "./tcp-proxy.js";

const HOLDABLE = new Set(["get", "mget", "del", "pexpire", "pexpireat", "eval", "evalsha"]);

interface Hold {
  readonly matches: CommandTest;
  readonly gate: Gate;
  readonly isReplyHeld: boolean;
}

/** A client whose commands or replies can be stopped: forces the order in which concurrent requests meet Redis. */
export class HeldClient {
  readonly client: RedisClient;
  readonly #holds: Hold[] = [];

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

  /** Stops the first command that matches, before it is sent. */
  hold(matches: CommandTest): Gate {
    return this.#add(matches, false);
  }

  /** Lets the first command that matches run, and stops its reply. */
  holdReply(matches: CommandTest): Gate {
    return this.#add(matches, true);
  }

  #add(matches: CommandTest, isReplyHeld: boolean): Gate {
    const gate = new Gate();
    this.#holds.push({ matches, gate, isReplyHeld });
    return gate;
  }

  #send(words: readonly string[], send: () => unknown): unknown {
    const index = this.#holds.findIndex(({ matches }) => matches(words));
    const [hold] = index < 0 ? [] : this.#holds.splice(index, 1);
    if (hold === undefined) return send();
    return hold.isReplyHeld ? passed(send(), hold.gate) : hold.gate.pass().then(send);
  }
}

async function passed(reply: unknown, gate: Gate): Promise<unknown> {
  const [settled] = await Promise.allSettled([reply]);
  await gate.pass();
  if (settled.status === "rejected") throw settled.reason;
  return settled.value;
}
