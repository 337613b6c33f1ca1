import type { Moment } from "./moment.js";

/** What was gathered in one moment. */
interface Batch<Item> {
  readonly items: Item[];
  readonly done: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Gathers what is asked for in one moment, so that it can share a command.
 *
 * All callers of a batch `await` the one promise: that is what brings each back into its own async context.
 */
export class Gathering<Item> {
  readonly #moment: Moment;
  readonly #maxItems: number;
  readonly #send: (items: readonly Item[]) => Promise<void>;
  #open: Batch<Item> | undefined;

  /** Batches have no more than `maxItems`; a failure of `send` is that of its batch alone. */
  constructor(moment: Moment, maxItems: number, send: (items: readonly Item[]) => Promise<void>) {
    this.#moment = moment;
    this.#maxItems = maxItems;
    this.#send = send;
  }

  /** Adds to the current batch; settles as `send` does for it. */
  add(item: Item): Promise<void> {
    if (this.#open === undefined || this.#open.items.length === this.#maxItems) {
      const batch = newBatch<Item>();
      this.#open = batch;
      this.#moment.atEnd(() => this.#flush(batch));
    }
    this.#open.items.push(item);
    return this.#open.done;
  }

  #flush({ items, resolve, reject }: Batch<Item>): void {
    if (this.#open?.items === items) this.#open = undefined;
    this.#moment.sent(items.length);
    this.#send(items).then(
      () => {
        this.#moment.settled();
        resolve();
      },
      (error: unknown) => {
        this.#moment.settled();
        reject(error);
      },
    );
  }
}

function newBatch<Item>(): Batch<Item> {
  let resolve: () => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const done = new Promise<void>((onDone, onFailure) => {
    resolve = onDone;
    reject = onFailure;
  });
  return { items: [], done, resolve, reject };
}
