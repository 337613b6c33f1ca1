import { once } from "node:events";
import { createServer, connect as dial, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { commandWords, FrameReader } from "./resp.js";

/** Says whether a rule is about this command; the first word is its name in lower case. */
export type CommandTest = (words: readonly string[]) => boolean;

type Fault = "cut before" | "cut after" | "hold" | "half-close";

interface Rule {
  readonly fault: Fault;
  readonly matches: CommandTest;
  readonly happened: () => void;
}

interface Line {
  readonly client: Socket;
  readonly server: Socket;
  /** Commands the server has got and not answered yet. */
  readonly unanswered: (readonly string[])[];
  /** Replies kept back, once a `hold` has begun on this line. */
  held: Buffer[] | undefined;
  /** Ends when all delayed replies have been passed on. */
  delayed: Promise<void> | undefined;
}

/**
 * Stands between a client and its Redis and breaks the connection at a chosen command. Each fault happens once, to the
 * first command that matches; it answers a promise that resolves when it has.
 */
export class TcpProxy {
  readonly #server: Server;
  readonly #lines = new Set<Line>();
  #rules: Rule[] = [];
  #delayMs = 0;
  #isStalled = false;
  port = 0;

  constructor(redisPort: number) {
    this.#server = createServer((client) => this.#accept(client, dial(redisPort, "127.0.0.1")));
  }

  async listen(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    this.port = address.port;
  }

  /** Cuts the connection instead of passing the command on: it never reaches the server. */
  cutBefore(matches: CommandTest): Promise<void> {
    return this.#once("cut before", matches);
  }

  /** Cuts the connection when the server has run the command and answered: the reply is lost. */
  cutAfter(matches: CommandTest): Promise<void> {
    return this.#once("cut after", matches);
  }

  /** From the reply to the command on, nothing comes back on that connection until `release`. */
  hold(matches: CommandTest): Promise<void> {
    return this.#once("hold", matches);
  }

  /** Lets all replies that are held go on. */
  release(): void {
    this.#rules = this.#rules.filter(({ fault }) => fault !== "hold");
    for (const line of this.#lines) {
      for (const reply of line.held ?? []) line.client.write(reply);
      line.held = undefined;
    }
  }

  /** Ends the server's side of the connection instead of passing the command on; the client may go on writing. */
  halfClose(matches: CommandTest): Promise<void> {
    return this.#once("half-close", matches);
  }

  /** From now on connections hang: they are open or opened, and nothing passes on them. */
  stall(): void {
    this.#isStalled = true;
  }

  /** Connections that hung are cut; new ones work. */
  resume(): void {
    this.#isStalled = false;
    for (const line of this.#lines) cut(line);
  }

  /** Every reply takes this much longer from now on. */
  delayReplies(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  close(): void {
    for (const line of this.#lines) cut(line);
    this.#server.close();
  }

  #once(fault: Fault, matches: CommandTest): Promise<void> {
    return new Promise<void>((happened) => {
      this.#rules.push({ fault, matches, happened });
    });
  }

  #apply(fault: Fault, words: readonly string[]): boolean {
    const index = this.#rules.findIndex((rule) => rule.fault === fault && rule.matches(words));
    const [rule] = index < 0 ? [] : this.#rules.splice(index, 1);
    rule?.happened();
    return rule !== undefined;
  }

  #accept(client: Socket, server: Socket): void {
    const line: Line = { client, server, unanswered: [], held: undefined, delayed: undefined };
    this.#lines.add(line);
    const commands = new FrameReader();
    const replies = new FrameReader();
    client.on("data", (chunk) => {
      for (const frame of commands.take(chunk)) if (!this.#pass(line, frame)) return;
    });
    server.on("data", (chunk) => {
      for (const frame of replies.take(chunk)) if (!this.#answer(line, frame)) return;
    });
    for (const socket of [client, server]) {
      socket.on("error", () => undefined);
      socket.once("close", () => {
        this.#lines.delete(line);
        cut(line);
      });
    }
  }

  /** False once the line is cut. */
  #pass(line: Line, frame: Buffer): boolean {
    if (this.#isStalled) return true;
    const words = commandWords(frame);
    if (this.#apply("cut before", words)) return cut(line);
    if (this.#apply("half-close", words)) {
      line.client.end();
      return true;
    }
    line.unanswered.push(words);
    line.server.write(frame);
    return true;
  }

  #answer(line: Line, frame: Buffer): boolean {
    if (this.#isStalled) return true;
    const words = line.unanswered.shift() ?? [];
    if (this.#apply("cut after", words)) return cut(line);
    if (line.held === undefined && this.#apply("hold", words)) line.held = [];
    if (line.held !== undefined) line.held.push(frame);
    else if (this.#delayMs === 0 && line.delayed === undefined) line.client.write(frame);
    else line.delayed = afterDelay(line, frame, this.#delayMs);
    return true;
  }
}

/** Passes a reply on when its delay is over, but never before those that came earlier, whose delay may be longer. */
async function afterDelay({ client, delayed }: Line, frame: Buffer, delayMs: number): Promise<void> {
  await Promise.all([delayed, new Promise((resolve) => setTimeout(resolve, delayMs))]);
  client.write(frame);
}

function cut({ client, server }: Line): false {
  client.destroy();
  server.destroy();
  return false;
}

/** A proxy in front of the Redis on this port, closed when the test ends. */
export async function startProxy(redisPort: number): Promise<TcpProxy> {
  const proxy = new TcpProxy(redisPort);
  await proxy.listen();
  onTestFinished(() => proxy.close());
  return proxy;
}
