import type { Rule } from "./operations.js";

/** One rule of the code, broken on purpose: the checker has to notice. */
export interface Mutation {
  /** What the code does then. */
  readonly breaks: string;
  readonly file: string;
  readonly search: string;
  readonly replace: string;
  /** The rule that must be reported; others may be too. */
  readonly noticedAs: Rule;
}

export const MUTATIONS: Readonly<Record<string, Mutation>> = {
  "stamp-at-save": {
    breaks: "a save writes the generation of the moment into the record",
    file: "src/session/session-writer.ts",
    search: 'const isPlain = binding.kind === "loaded" && snapshot.lifetimeMs > 0 && !changesUser(binding, snapshot);',
    replace: `
      const isPlain = binding.kind === "loaded" && snapshot.lifetimeMs > 0 && !changesUser(binding, snapshot);
      const { login } = binding;
      if (isPlain && login !== undefined) {
        return this.#parts.generations.current(login.userText).then((generation = "0") => {
          const head = { before: login.userText + "," + generation + ",at=" + login.at + ";n=" + newNonce() + ",", after: "" };
          const stamp = { head, login: { ...login, generation }, confirm: false };
          return this.#update(sid, binding, snapshot, stamp, deadline);
        });
      }`,
    noticedAs: "logged-out-read",
  },
  "no-compare-and-set": {
    breaks: "a save does not compare the head before it writes",
    file: "src/session/scripts/save-records.ts",
    search: "if redis.pcall('GETRANGE', key, 0, #head - 1) ~= head then",
    replace: "if false then",
    noticedAs: "revived",
  },
  "touch-sets": {
    breaks: "a touch writes the record as it was loaded, also where there is none any more",
    file: "src/session/session-writer.ts",
    search:
      "if (payload === undefined || startsWithCookie(payload, prefix)) return this.#extend(sid, binding.login, lifetimeMs);",
    replace: `
    if (payload !== undefined) {
      const life = { ttlMs: this.#parts.lifetimes.ttlMs(lifetimeMs, binding.login), lifetimeMs };
      return this.insertHead(sid, { before: binding.head, after: "" }, payload, life, this.#parts.redis.deadline())
        .then(() => "extended");
    }`,
    noticedAs: "revived",
  },
  "touch-writes-data": {
    breaks: "a touch writes the data it was loaded with, if the head is still the same",
    file: "src/session/session-writer.ts",
    search:
      "if (payload === undefined || startsWithCookie(payload, prefix)) return this.#extend(sid, binding.login, lifetimeMs);",
    replace: `
    if (payload !== undefined) {
      const snapshot = { payload, lifetimeMs, dataUser: binding.dataUser };
      return inOrder(binding, () => this.#update(sid, binding, snapshot, undefined, this.#parts.redis.deadline()));
    }`,
    noticedAs: "lost-save",
  },
  "no-generation-check": {
    breaks: "a read does not compare generations",
    file: "src/session/reader.ts",
    search: 'counter === record.login?.generation ? "live" : "stale"',
    replace: '"live"',
    noticedAs: "logged-out-read",
  },
  "cached-generation": {
    breaks: "a process remembers a user's generation for 200 ms",
    file: "src/session/reader.ts",
    search: "if (!isGeneration(counter)) return UNCOUNTED;",
    replace: `
  const cache = (globalThis.cachedGenerations ??= new Map());
  const cached = cache.get(record.login?.userText);
  if (cached !== undefined && performance.now() - cached.at < 200) counter = cached.counter;
  else cache.set(record.login?.userText, { counter, at: performance.now() });`,
    noticedAs: "logged-out-read",
  },
  "errors-are-absence": {
    breaks: "a read that cannot ask Redis answers that there is no session",
    file: "src/session/session-loader.ts",
    search: "return this.#parts.reader.read(sid, (outcome) => this.#conclude(sid, outcome, readAt));",
    replace:
      "return this.#parts.reader.read(sid, (outcome) => this.#conclude(sid, outcome, readAt)).catch(() => NOT_FOUND);",
    noticedAs: "lost-session",
  },
  "login-without-confirm": {
    breaks: "a login does not ask whether its generation still holds",
    file: "src/session/login-flow.ts",
    search: 'if (confirmation.status === "fulfilled" && confirmation.value) return;',
    replace: 'if (confirmation.status === "fulfilled") return;',
    noticedAs: "superseded-login",
  },
  "attempt-ignored": {
    breaks: "a login takes the generation after the password check",
    file: "src/session/login-flow.ts",
    search: "const generation = attempt.generation ?? (await this.#parts.generations.ensure(userText));",
    replace: "const generation = await this.#parts.generations.ensure(userText);",
    noticedAs: "logged-out-read",
  },
  "adopt-before-confirm": {
    breaks: "a login puts the new session on the request before it is certain",
    file: "src/session/login-flow.ts",
    search: "await this.#insertConfirmed(fresh, newLogin(userText, generation));",
    replace:
      "this.#parts.exchange.adopt(req, old, fresh); await this.#insertConfirmed(fresh, newLogin(userText, generation));",
    noticedAs: "failed-login-cookie",
  },
  "others-without-fence": {
    breaks: "logoutOthers raises the generation whatever it is",
    file: "src/session/scripts/raise-generation.ts",
    search: "if ARGV[3] ~= '' and not (known and current == ARGV[3]) then",
    replace: "if false then",
    noticedAs: "logged-out-read",
  },
  "move-without-take": {
    breaks: "rotate and logoutOthers do not ask whether they are the ones who ended the old record",
    file: "src/session/session-exchange.ts",
    search: "if (!taken) return false;",
    replace: "",
    noticedAs: "ended-exchange",
  },
  "lazy-delete": {
    breaks: "a read deletes a record with an old generation instead of letting it fade",
    file: "src/session/scripts/fade-record.ts",
    search: "local left = redis.call('PTTL', KEYS[1])",
    replace: "redis.call('DEL', KEYS[1])\n  local left = 0",
    noticedAs: "refused-without-cause",
  },
  "insert-over": {
    breaks: "a new session is written also where there is one",
    file: "src/session/scripts/insert-record.ts",
    search: "if redis.call('EXISTS', KEYS[1]) == 1 then",
    replace: "if false then",
    noticedAs: "foreign-read",
  },
  "coarse-generations": {
    breaks: "a new generation is Redis' clock in seconds",
    file: "src/session/scripts/raise-generation.ts",
    search: "raised = string.format('%.0f', least + (random - least) % RANGE)",
    replace: "raised = string.format('%.0f', math.floor(now / 1e6) * 1e6)",
    noticedAs: "generation-order",
  },
};
