import { expect, onTestFinished, test, vi } from "vitest";
import { MAX_LIFETIME_MS } from "../../src/session/lifetime.js";
import { requireLogin } from "../../src/session/require-login.js";
import { bindData, newBinding } from "../../src/session/session-binding.js";

/** What the middleware does: the error in its answer, or `"next"`. */
function outcome(guard: ReturnType<typeof requireLogin>, at?: number | "anonymous"): unknown {
  const session = {};
  const login = { userId: "mira", userText: "mira", generation: "7", at: typeof at === "number" ? at : undefined };
  bindData(session, { ...newBinding("sid"), login: at === "anonymous" ? undefined : login });
  const seen: unknown[] = [];
  const res = {
    statusCode: 200,
    setHeader: () => undefined,
    end(text: string) {
      seen.push(this.statusCode, JSON.parse(text).error);
    },
  };
  guard({ session } as never, res as never, (...args) => seen.push("next", ...args));
  return seen.join(" ");
}

test("requireLogin: without an age, any login passes and nobody else", () => {
  expect(outcome(requireLogin(), "anonymous")).toBe("401 login_required");
  expect([outcome(requireLogin()), outcome(requireLogin({}), 1)]).toEqual(["next", "next"]);
});

test("requireLogin: with an age, a login that is older, or of unknown time, does not pass", () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_700_000_000_000 });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const guard = requireLogin({ maxAgeMs: 60_000 });
  expect(outcome(guard, "anonymous")).toBe("401 login_required");
  expect(outcome(guard)).toBe("401 login_too_old");
  expect(outcome(guard, Date.now() - 60_001)).toBe("401 login_too_old");
  expect([outcome(guard, Date.now() - 60_000), outcome(guard, Date.now() + 5_000)]).toEqual(["next", "next"]);
});

test.each([
  [{ maxAgeMs: 0 }, /^requireLogin: maxAgeMs: expected an integer number of milliseconds from 1 to \d+, got 0$/],
  [{ maxAgeMs: MAX_LIFETIME_MS + 1 }, /^requireLogin: maxAgeMs: /],
  [{ maxAge: 5 }, /^requireLogin: unknown option "maxAge"; known are maxAgeMs$/],
])("misuse: requireLogin(%j)", (options, message) => {
  expect(() => requireLogin(options as object)).toThrow(message);
});

test("misuse: the ends of the range are in it", () => {
  for (const maxAgeMs of [1, MAX_LIFETIME_MS]) expect(() => requireLogin({ maxAgeMs })).not.toThrow();
});
