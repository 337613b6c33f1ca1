/** A point at which parties wait until the test opens it; says when somebody has arrived. */
export class Gate {
  #open: () => void = () => undefined;
  #arrive: () => void = () => undefined;
  readonly #opened = new Promise<void>((resolve) => {
    this.#open = resolve;
  });
  /** Resolves once somebody waits at the gate. */
  readonly arrived: Promise<void> = new Promise<void>((resolve) => {
    this.#arrive = resolve;
  });

  /** Call where the code under test is to stop. */
  async pass(): Promise<void> {
    this.#arrive();
    await this.#opened;
  }

  open(): void {
    this.#open();
  }
}
