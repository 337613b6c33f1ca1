import session, { type SessionOptions } from "express-session";
import fc from "fast-check";
import { expect, test } from "vitest";
import { GenerationStore } from "../../src/index.js";
import { sleep } from "../support/app.js";
import { freshClient } from "../support/clients.js";
import { contractApp, type EXPRESS, play, type Seen, type Step } from "../support/oracle.js";

const BOTH = [true, false];
const VERSIONS = [4, 5] as const satisfies readonly (keyof typeof EXPRESS)[];

const COMBINATIONS = VERSIONS.flatMap((version) =>
  BOTH.flatMap((resave) =>
    BOTH.flatMap((rolling) =>
      BOTH.flatMap((saveUninitialized) =>
        (["keep", "destroy"] as const).map((unset) => ({ version, resave, rolling, saveUninitialized, unset })),
      ),
    ),
  ),
);

const EVERYTHING: readonly Step[] = [
  ["GET", "/read"],
  ["GET", "/undo"],
  ["HEAD", "/read"],
  ["POST", "/set/a/1"],
  ["GET", "/read"],
  ["HEAD", "/read"],
  ["GET", "/undo"],
  ["POST", "/touch"],
  ["GET", "/stream/x"],
  ["GET", "/read"],
  ["POST", "/save/y"],
  ["POST", "/save-then-change"],
  ["GET", "/reload"],
  ["GET", "/fail"],
  ["GET", "/read"],
  ["POST", "/regenerate/empty"],
  ["GET", "/read"],
  ["POST", "/set/42/number-like"],
  ["POST", "/regenerate/z"],
  ["GET", "/reload"],
  ["POST", "/max-age/7200000"],
  ["GET", "/read"],
  ["POST", "/destroy"],
  ["GET", "/read"],
  ["POST", "/set/b/2"],
  ["POST", "/null"],
  ["GET", "/read"],
  ["POST", "/stream/again"],
  ["POST", "/set/c/3"],
];

async function onBoth(
  version: keyof typeof EXPRESS,
  options: Partial<SessionOptions>,
): Promise<(steps: readonly Step[]) => Promise<{ ours: Seen[]; oracle: Seen[] }>> {
  const store = new GenerationStore({ client: await freshClient(), touchIntervalMs: 0 });
  const memory = new session.MemoryStore();
  const ours = await contractApp(version, store, options);
  const oracle = await contractApp(version, memory, options);
  return async (steps) => {
    const [a, b] = await Promise.all([play(ours, store, steps), play(oracle, memory, steps)]);
    return { ours: a, oracle: b };
  };
}

test.each(COMBINATIONS)(
  "contract: as MemoryStore, express $version resave $resave rolling $rolling saveUninitialized $saveUninitialized unset $unset",
  async ({ version, ...options }) => {
    // Each version with the other kind of cookie: express-session treats them alike, and the random walks mix them.
    const walk = await onBoth(version, { ...options, cookie: version === 4 ? {} : { maxAge: 3_600_000 } });
    const { ours, oracle } = await walk(EVERYTHING);
    expect(ours).toEqual(oracle);
  },
);

const anyStep: fc.Arbitrary<Step> = fc.constantFrom<Step>(
  ...EVERYTHING,
  ["GET", "/read"],
  ["POST", "/set/a/2"],
  ["POST", "/set/b/1"],
  ["HEAD", "/set/h/1"],
  ["GET", "/reload"],
  ["POST", "/save/again"],
);

test("contract: as MemoryStore, any sequence of requests under any options", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...COMBINATIONS),
      fc.constantFrom({}, { maxAge: 3_600_000 }),
      fc.array(anyStep, { minLength: 4, maxLength: 14 }),
      async ({ version, ...options }, cookie, steps) => {
        const walk = await onBoth(version, { ...options, cookie });
        const { ours, oracle } = await walk(steps);
        expect(ours).toEqual(oracle);
      },
    ),
    { numRuns: 25 },
  );
});

test.each(COMBINATIONS.filter(({ version, unset }) => version === 5 && unset === "keep"))(
  "contract: a session that expired is a new one, resave $resave rolling $rolling saveUninitialized $saveUninitialized",
  async ({ version, ...options }) => {
    const walk = await onBoth(version, { ...options, cookie: { maxAge: 400 } });
    const before = await walk([["POST", "/set/a/1"]]);
    await sleep(450);
    const after = await walk([["GET", "/read"]]);
    expect(before.ours).toMatchObject([{ text: '[[["a","1"]],0]', cookieSent: true, cookieNumber: 0 }]);
    expect(after.ours).toMatchObject([{ text: "[[],0]", cookieSent: options.saveUninitialized }]);
    expect(after.ours.map(fromOutside)).toEqual(after.oracle.map(fromOutside));
  },
);

/** Without what a slow machine may change: whether the short-lived session is still stored when the test looks. */
function fromOutside({ stored: _stored, count: _count, ...seen }: Seen): object {
  return seen;
}
