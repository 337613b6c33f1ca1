import { expect, test } from "vitest";
import { MUTATIONS } from "./mutations.js";
import { runHistory } from "./runner.js";

/** Chance decides whether a run meets the moment that a broken rule is about. */
const TRIES = 5;

test.for(Object.entries(MUTATIONS))("the checker notices %s", async ([name, { noticedAs, breaks }]) => {
  const sizes = { processes: 3, clients: 32, users: 40, seconds: 4 };
  const noticed = new Set<string>();
  for (let seed = 1; seed <= TRIES && !noticed.has(noticedAs); seed += 1) {
    const { violations } = await runHistory({ ...sizes, seed, mutation: name });
    for (const { rule } of violations) noticed.add(rule);
  }
  console.log(`${name} (${breaks}): ${[...noticed].join(", ")}`);
  expect([...noticed]).toContain(noticedAs);
});
