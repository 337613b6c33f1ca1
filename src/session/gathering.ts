/**
 * Gathers what is asked for in one moment, so that it can share a command. While nothing is on its way, a moment ends with the
 * current step of the event loop (`process.nextTick`): a lone caller waits for nobody. While something is, it lasts until the next
 * `setImmediate`: under traffic each request comes in a step of its own.
 *
 * All callers of a batch `await` the one promise: that is what brings each back into its own async context.
 */
export class Gathering<Item> {
  readonly #maxItems: number;
  readonly #send: (items: readonly Item[]) => Promise<void>;
  #open: { readonly items: Item[]; readonly done: Promise<void> } | undefined;
  #onTheWay = 0;

  /** Batches have no more than `maxItems`; a failure of `send` is that of its batch alone. */
  constructor(maxItems: number, send: (items: readonly Item[]) => Promise<void>) {
    this.#maxItems = maxItems;
    this.#send = send;
  }

  /** Adds to the current batch; settles as `send` does for it. */
  add(item: Item): Promise<void> {
    if (this.#open === undefined || this.#open.items.length === this.#maxItems) {
      const items: Item[] = [];
      const moment = new Promise<void>(this.#onTheWay === 0 ? nextTick : nextImmediate);
      this.#open = { items, done: moment.then(() => this.#flush(items)) };
    }
    this.#open.items.push(item);
    return this.#open.done;
  }

  async #flush(items: readonly Item[]): Promise<void> {
    if (this.#open?.items === items) this.#open = undefined;
    this.#onTheWay += 1;
    try {
      await this.#send(items);
    } finally {
      this.#onTheWay -= 1;
    }
  }
}

function nextTick(resolve: () => void): void {
  process.nextTick(resolve);
}

function nextImmediate(resolve: () => void): void {
  setImmediate(resolve);
}
