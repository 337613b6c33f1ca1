// @ts-check
/** Measuring: interleaved rounds, medians, ratios. */

export const QUICK = process.env.BENCH_QUICK === "1";

/** @param {number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * Runs both sides in turn, the order changing from round to round so that neither always profits from a warm machine.
 *
 * @template T
 * @param {number} rounds
 * @param {() => Promise<T>} base
 * @param {() => Promise<T>} ours
 * @returns {Promise<{ base: T[], ours: T[] }>}
 */
export async function interleave(rounds, base, ours) {
  /** @type {{ base: T[], ours: T[] }} */
  const results = { base: [], ours: [] };
  for (let round = 0; round < rounds; round += 1) {
    if (round % 2 === 0) {
      results.base.push(await base());
      results.ours.push(await ours());
    } else {
      results.ours.push(await ours());
      results.base.push(await base());
    }
  }
  return results;
}

/**
 * Keeps `inFlight` calls going for `durationMs`; operations per second. A failing call fails the run: no ratio of a broken run.
 *
 * @param {number} inFlight
 * @param {number} durationMs
 * @param {(n: number) => Promise<unknown>} call
 */
export async function throughput(inFlight, durationMs, call) {
  let calls = 0;
  const startMs = performance.now();
  const endMs = startMs + durationMs;
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (performance.now() < endMs) {
        calls += 1;
        await call(calls);
      }
    }),
  );
  return (calls / (performance.now() - startMs)) * 1000;
}

/**
 * Microseconds of CPU the Redis server spends on one operation while `work` makes `operations()` of them.
 *
 * @param {{ info(section: string): Promise<string> }} client
 * @param {() => Promise<number>} work answers how many operations it made
 */
export async function redisCpuUs(client, work) {
  const before = await redisCpu(client);
  const operations = await work();
  return ((await redisCpu(client)) - before) / operations;
}

/** @param {{ info(section: string): Promise<string> }} client */
async function redisCpu(client) {
  const info = await client.info("cpu");
  const seconds = (/** @type {string} */ name) => Number(new RegExp(`^${name}:([0-9.]+)`, "m").exec(info)?.[1]);
  return (seconds("used_cpu_sys") + seconds("used_cpu_user")) * 1e6;
}

/**
 * @param {readonly string[]} headings
 * @param {readonly (readonly (string | number)[])[]} rows
 */
export function table(headings, rows) {
  console.log(`| ${headings.join(" | ")} |`);
  console.log(`| ${headings.map(() => "---").join(" | ")} |`);
  for (const row of rows) console.log(`| ${row.join(" | ")} |`);
  console.log("");
}

/** @param {number} value */
export function ratio(value) {
  if (!Number.isFinite(value)) throw new Error("a side of the comparison did not measure anything");
  return value.toFixed(2);
}

/** @param {number} value */
export function whole(value) {
  return Math.round(value).toLocaleString("en").replaceAll(",", " ");
}

/** @typedef {{ requests: number, seconds: number, p50: number, p99: number, appCpuUs: number, redisCpuUs: number }} Load */

/** Headings of what `comparison` gives. */
export const COMPARED = [
  "connect-redis req/s",
  "ours req/s",
  "ratio",
  "p50 ms, theirs / ours",
  "p99 ms, theirs / ours",
  "app CPU, ours / theirs",
  "Redis CPU, ours / theirs",
];

/** Whole requests of both sides, side by side. @param {{ base: Load[], ours: Load[] }} rounds */
export function comparison({ base, ours }) {
  const of = (/** @type {Load[]} */ side, /** @type {(round: Load) => number} */ what) => median(side.map(what));
  const perSecond = (/** @type {Load} */ { requests, seconds }) => requests / seconds;
  const both = (/** @type {(round: Load) => number} */ what) =>
    `${of(base, what).toFixed(2)} / ${of(ours, what).toFixed(2)}`;
  return [
    whole(of(base, perSecond)),
    whole(of(ours, perSecond)),
    ratio(median(ours.map((round, n) => perSecond(round) / perSecond(base[n])))),
    both(({ p50 }) => p50),
    both(({ p99 }) => p99),
    ratio(of(ours, ({ appCpuUs }) => appCpuUs) / of(base, ({ appCpuUs }) => appCpuUs)),
    ratio(of(ours, (round) => round.redisCpuUs) / of(base, (round) => round.redisCpuUs)),
  ];
}
