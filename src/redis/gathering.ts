/** What was gathered in one moment. */
interface Batch<Item> {
  readonly items: Item[];
  readonly done: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

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
  #open: Batch<Item> | undefined;
  #onTheWay = 0;

  /** Batches have no more than `maxItems`; a failure of `send` is that of its batch alone. */
  constructor(maxItems: number, send: (items: readonly Item[]) => Promise<void>) {
    this.#maxItems = maxItems;
    this.#send = send;
  }

  /** Adds to the current batch; settles as `send` does for it. */
  add(item: Item): Promise<void> {
    if (this.#open === undefined || this.#open.items.length === this.#maxItems) {
      this.#open = newBatch();
      if (this.#onTheWay === 0) process.nextTick(this.#flush, this.#open);
      else setImmediate(this.#flush, this.#open);
    }
    this.#open.items.push(item);
    return this.#open.done;
  }

  readonly #flush = ({ items, resolve, reject }: Batch<Item>): void => {
    if (this.#open?.items === items) this.#open = undefined;
    this.#onTheWay += 1;
    this.#send(items).then(
      () => {
        this.#onTheWay -= 1;
        resolve();
      },
      (error: unknown) => {
        this.#onTheWay -= 1;
        reject(error);
      },
    );
  };
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
