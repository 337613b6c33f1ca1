import { AsyncLocalStorage } from "node:async_hooks";
import { expect, onTestFinished, test } from "vitest";
import { GenerationStore } from "../../src/index.js";
import { testApp } from "../support/app.js";
import { freshClient } from "../support/clients.js";

const DATA = { cookie: { originalMaxAge: 60_000 } } as never;

/** The store's methods with callbacks, by name. */
function calls(store: GenerationStore): Record<string, (callback: () => void) => void> {
  return {
    get: (callback) => store.get("a", callback),
    set: (callback) => store.set("a", DATA, callback),
    touch: (callback) => store.touch("a", DATA, callback),
    destroy: (callback) => store.destroy("a", callback),
    all: (callback) => store.all(callback),
    ids: (callback) => store.ids(callback),
    length: (callback) => store.length(callback),
    clear: (callback) => store.clear(callback),
  };
}

test.each(["working", "closed"])("G10: on a %s store each callback comes once and never at once", async (state) => {
  const store = new GenerationStore({ client: await freshClient() });
  if (state === "closed") await store.close();
  for (const [name, call] of Object.entries(calls(store))) {
    let count = 0;
    await new Promise<void>((resolve) => {
      call(() => {
        count += 1;
        resolve();
      });
      expect(count, name).toBe(0);
    });
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(count, name).toBe(1);
  }
});

test("G10: without a callback nothing stays unhandled, also when it fails", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): number => unhandled.push(reason);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  const store = new GenerationStore({ client: await freshClient() });
  await store.close();
  // `Session.destroy()` without a callback passes undefined and drops the promise.
  void store.destroy("a", undefined);
  void store.set("a", DATA);
  void store.get("a");
  void store.clear();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(unhandled).toEqual([]);
  await expect(store.get("a")).rejects.toMatchObject({ code: "ERR_STORE_CLOSED" });
});

test("G10: gathered reads come back each into its own request's AsyncLocalStorage", async () => {
  const context = new AsyncLocalStorage<string>();
  const { signedIn, store } = await testApp();
  const devices = await Promise.all(Array.from({ length: 20 }, (_, index) => signedIn(`u${index}`)));
  const ids = await store.ids();
  expect(ids).toHaveLength(devices.length);
  for (let round = 0; round < 10; round += 1) {
    const seen = await Promise.all(
      ids.map((sid) =>
        context.run(sid, () => new Promise<unknown>((resolve) => store.get(sid, () => resolve(context.getStore())))),
      ),
    );
    expect(seen).toEqual(ids);
  }
});

test("G10: what a callback throws is the application's own uncaught exception, and is not answered with a second call", async () => {
  const store = new GenerationStore({ client: await freshClient() });
  const listeners = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  onTestFinished(() => {
    process.removeAllListeners("uncaughtException");
    for (const listener of listeners) process.on("uncaughtException", listener);
  });
  let count = 0;
  const thrown = new Promise((resolve) => process.once("uncaughtException", resolve));
  store.get("a", () => {
    count += 1;
    throw new Error("the application's own");
  });
  expect(await thrown).toMatchObject({ message: "the application's own" });
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(count).toBe(1);
});
