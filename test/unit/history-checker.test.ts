import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { checkHistory } from "../history/checker.js";
import { MUTATIONS } from "../history/mutations.js";
import {
  type Ending,
  type Everywhere,
  type Exchange,
  type Login,
  type Operation,
  type Outcome,
  type PasswordChange,
  type Read,
  RULES,
  type Rule,
  type Save,
  type Seen,
  type Visit,
} from "../history/operations.js";

const LATE = 5;

/** Rules that a history breaks, each once. */
function broken(...operations: readonly Operation[]): Rule[] {
  return [...new Set(checkHistory(operations, LATE).map(({ rule }) => rule))].sort();
}

const at = (from: number, to: number) => ({ process: 0, client: 0, from, to });

/** Signs `ann` in as session `s1` from 10 to 14, under generation 100, with password 0. */
function login(changes: Partial<Login> = {}): Login {
  const { from = 12, to = 14 } = changes;
  return {
    ...at(from, to),
    ...{ kind: "login", user: "ann", outcome: "ok", begun: { from: 10, to: 11 }, generation: "100", password: 0 },
    ...{ created: "s1", cookie: "s1" },
    ...changes,
  };
}

const live = (changes: Partial<Seen> = {}): Seen => ({ user: "ann", generation: "100", value: "", ...changes });

function read(from: number, to: number, seen: Seen | null | undefined, sid = "s1"): Read {
  return { ...at(from, to), kind: "read", sid, outcome: seen === undefined ? "unknown" : "ok", seen };
}

function everywhere(from: number, to: number, outcome: Outcome = "ok", generation?: string): Everywhere {
  return { ...at(from, to), kind: "everywhere", user: "ann", outcome, generation };
}

function incr(from: number, to: number): Everywhere {
  return { ...everywhere(from, to), kind: "incr" };
}

function exchange(kind: "rotate" | "others", from: number, to: number, changes: Partial<Exchange> = {}): Exchange {
  const created = { sid: "s1", created: "s2", cookie: "s2", outcome: "ok" } as const;
  const generation = kind === "others" ? "200" : undefined;
  return { ...at(from, to), kind, user: "ann", ...created, generation, ...changes };
}

function ending(kind: "destroy" | "regenerate", from: number, to: number, outcome: Outcome = "ok"): Ending {
  return { ...at(from, to), kind, sid: "s1", outcome };
}

function save(from: number, to: number, value: string, outcome: Outcome = "ok", sid = "s1"): Save {
  return { ...at(from, to), kind: "save", sid, value, outcome };
}

function password(from: number, to: number, changes: Partial<PasswordChange> = {}): PasswordChange {
  return { ...at(from, to), kind: "password", user: "ann", version: 1, outcome: "ok", ...changes };
}

function visit(changes: Partial<Visit> = {}): Visit {
  return { ...at(2, 4), kind: "visit", created: "s0", value: "v0", outcome: "ok", ...changes };
}

describe("a history in order", () => {
  test("of a login, saves, moves and logouts", () => {
    const history = [
      visit(),
      read(5, 6, { user: "", generation: "", value: "v0" }, "s0"),
      login({ sid: "s0" }),
      read(15, 16, live({ value: "v0" })),
      save(17, 18, "v1"),
      read(19, 20, live({ value: "v1" })),
      exchange("rotate", 21, 23),
      read(24, 25, live({ value: "v1" }), "s2"),
      read(24, 25, null),
      exchange("others", 30, 33, { sid: "s2", created: "s3", cookie: "s3" }),
      read(34, 35, live({ generation: "200", value: "v1" }), "s3"),
      password(40, 44),
      everywhere(41, 43, "ok", "300"),
      read(45, 46, null, "s3"),
    ];
    expect(broken(...history)).toEqual([]);
  });

  test("of reads at the same time as a logout, which may see either", () => {
    expect(broken(login(), everywhere(20, 30), read(21, 22, null), read(21, 32, live()))).toEqual([]);
  });

  test("of a logout whose reply was lost, which may have happened or not, also a moment later", () => {
    expect(broken(login(), everywhere(20, 30, "unknown"), read(31, 32, live()), read(33, 34, null))).toEqual([]);
    expect(broken(login(), ending("destroy", 20, 30, "unknown"), read(33, 34, null))).toEqual([]);
  });

  test("of reads that were answered with an error, which say nothing", () => {
    expect(broken(login(), everywhere(20, 21), read(22, 23, undefined), read(24, 25, null))).toEqual([]);
  });
});

test("data goes on with a login that keeps it, and with moves before and after it", () => {
  const history = [
    visit({ created: "a0" }),
    exchange("rotate", 5, 6, { user: "", sid: "a0", created: "a1", cookie: "a1" }),
    login({ sid: "a1" }),
    exchange("rotate", 15, 16),
  ];
  expect(broken(...history, read(20, 21, live({ value: "v0" }), "s2"))).toEqual([]);
});

describe("logged-out-read", () => {
  test("a read after a confirmed logout of the user", () => {
    expect(broken(login(), everywhere(20, 21), read(22, 23, live()))).toEqual(["logged-out-read"]);
    expect(broken(login(), incr(20, 21), read(22, 23, live()))).toEqual(["logged-out-read"]);
  });

  test("a read of a moved session after it", () => {
    const history = [login(), exchange("rotate", 15, 16), everywhere(20, 21), read(22, 23, live(), "s2")];
    expect(broken(...history)).toEqual(["logged-out-read"]);
  });

  test("a read of another device after logoutOthers, not of the device that called it", () => {
    const other = login({ created: "s9", cookie: "s9" });
    const history = [login(), other, exchange("others", 20, 21)];
    expect(broken(...history, read(22, 23, live({ generation: "200" }), "s2"))).toEqual([]);
    expect(broken(...history, read(22, 23, live(), "s9"))).toEqual(["logged-out-read"]);
  });

  test("a device that had been logged out and logged out the others", () => {
    const history = [login(), everywhere(20, 21), exchange("others", 22, 23)];
    expect(broken(...history, read(24, 25, live({ generation: "200" }), "s2"))).toEqual(["logged-out-read"]);
  });

  test("a login that had begun before the logout", () => {
    const late = login({ from: 25, to: 26 });
    expect(broken(late, everywhere(12, 30), read(31, 32, live()))).toEqual(["logged-out-read"]);
  });
});

test("old-password-read: a login with the old password, unless that device made the change", () => {
  const change = [exchange("others", 21, 23), password(20, 24, { spared: "s2" })];
  expect(broken(login(), ...change, read(25, 26, live({ generation: "200" }), "s2"))).toEqual([]);
  expect(broken(login(), password(20, 24), read(25, 26, live()))).toEqual(["old-password-read"]);
  expect(broken(login({ password: 1 }), password(5, 9), read(25, 26, live()))).toEqual([]);
});

describe("ended-read", () => {
  test("a read after its session was destroyed, regenerated or moved", () => {
    expect(broken(login(), ending("destroy", 20, 21), read(22, 23, live()))).toEqual(["ended-read"]);
    expect(broken(login(), ending("regenerate", 20, 21), read(22, 23, live()))).toEqual(["ended-read"]);
    expect(broken(login(), exchange("rotate", 20, 21), read(22, 23, live()))).toEqual(["ended-read"]);
  });

  test("a read of the session that a login took the place of", () => {
    const anonymous: Seen = { user: "", generation: "", value: "v0" };
    expect(broken(visit(), login({ sid: "s0" }), read(22, 23, anonymous, "s0"))).toEqual(["ended-read"]);
  });
});

test("revived: a session is back that had been found gone", () => {
  const history = [login(), everywhere(20, 30, "unknown"), read(33, 34, null)];
  expect(broken(...history, read(33, 40, live()))).toEqual([]);
  expect(broken(...history, read(35, 36, live()))).toEqual(["revived"]);
});

describe("foreign-read", () => {
  test("another user, another generation, another session's data", () => {
    expect(broken(login(), read(20, 21, live({ user: "bob" })))).toEqual(["foreign-read"]);
    expect(broken(login(), read(20, 21, live({ generation: "101" })))).toEqual(["foreign-read"]);
    expect(broken(login(), save(15, 16, "v9", "ok", "s9"), read(20, 21, live({ value: "v9" })))).toEqual([
      "foreign-read",
    ]);
    expect(broken(login(), read(20, 21, live({ value: "never written" })))).toEqual(["foreign-read"]);
  });

  test("a visitor in the place of a session that had not ended", () => {
    const forced = visit({ ...at(20, 21), created: "s1", isForced: true });
    const visitor = read(22, 23, { user: "", generation: "", value: "v0" });
    expect(broken(login(), forced, visitor)).toEqual(["foreign-read"]);
    expect(broken(login(), ending("destroy", 16, 17), forced, visitor)).toEqual([]);
  });
});

describe("lost-session", () => {
  test("nothing had ended it", () => {
    expect(broken(login(), read(20, 21, null))).toEqual(["lost-session"]);
  });

  test("what ended others, came before it, later, or had no effect is no cause", () => {
    const others: Operation[] = [
      { ...everywhere(15, 16), user: "bob" },
      { ...ending("destroy", 15, 16), sid: "s9" },
      everywhere(5, 6),
      everywhere(15, 16, "void"),
      everywhere(22, 23),
      exchange("rotate", 15, 16, { outcome: "refused", created: undefined, cookie: undefined, sid: "s9" }),
    ];
    for (const other of others) expect(broken(login(), other, read(20, 21, null))).toContain("lost-session");
  });

  test("the device that logged out the others is itself out", () => {
    expect(broken(login(), exchange("others", 20, 21), read(22, 23, null, "s2"))).toEqual(["lost-session"]);
  });

  test("a read before the login was answered may find nothing", () => {
    expect(broken(login(), read(13, 16, null))).toEqual([]);
  });
});

describe("refused-without-cause", () => {
  const refused = { outcome: "refused", created: undefined, cookie: undefined } as const;

  test("a login, without a logout during it", () => {
    expect(broken(login(refused))).toEqual(["refused-without-cause"]);
    expect(broken(login(refused), everywhere(5, 9))).toEqual(["refused-without-cause"]);
    expect(broken(login(refused), everywhere(5, 10))).toEqual([]);
    expect(broken(login(refused), everywhere(1, 6, "unknown"))).toEqual([]);
  });

  test("a move or a save, without an end of the session", () => {
    expect(broken(login(), exchange("others", 20, 21, refused))).toEqual(["refused-without-cause"]);
    expect(broken(login(), save(20, 21, "v1", "refused"))).toEqual(["refused-without-cause"]);
    expect(broken(login(), ending("destroy", 19, 20), exchange("rotate", 20, 21, refused))).toEqual([]);
  });
});

test("superseded-login: the user was logged out between the password check and the login", () => {
  expect(broken(everywhere(12, 13), login({ from: 14, to: 15 }))).toEqual(["superseded-login"]);
  expect(broken(everywhere(12, 15), login({ from: 14, to: 16 }))).toEqual([]);
});

test("ended-exchange: a session moved after its end, or twice", () => {
  expect(broken(login(), ending("destroy", 15, 16), exchange("rotate", 17, 18))).toEqual(["ended-exchange"]);
  const twin = exchange("rotate", 16, 18, { created: "s3", cookie: "s3" });
  expect(broken(login(), exchange("rotate", 15, 17), twin)).toEqual(["ended-exchange"]);
  expect(broken(login(), ending("destroy", 15, 17), exchange("rotate", 16, 18))).toEqual([]);
});

test("failed-login-cookie: a failed login or move that sends a new session ID", () => {
  const failed = { outcome: "unknown", created: undefined } as const;
  expect(broken(login({ ...failed, cookie: "s1" }))).toEqual(["failed-login-cookie"]);
  expect(broken(login({ ...failed, sid: "s0", cookie: "s0" }))).toEqual([]);
  expect(broken(login(), exchange("others", 20, 21, failed))).toEqual(["failed-login-cookie"]);
});

describe("lost-save", () => {
  test("a read of older data than a save that had succeeded", () => {
    const saves = [save(15, 16, "v1"), save(17, 18, "v2")];
    expect(broken(login(), ...saves, read(20, 21, live({ value: "v1" })))).toEqual(["lost-save"]);
    expect(broken(login(), ...saves, read(20, 21, live({ value: "" })))).toEqual(["lost-save"]);
    expect(broken(login(), ...saves, read(16, 17, live({ value: "v1" })))).toEqual([]);
  });

  test("of saves at the same time either may be the last", () => {
    const saves = [save(15, 18, "v1"), save(16, 17, "v2")];
    expect(broken(login(), ...saves, read(20, 21, live({ value: "v1" })))).toEqual([]);
    expect(broken(login(), ...saves, read(20, 21, live({ value: "v2" })))).toEqual([]);
  });

  test("a save that failed may be the last a moment later", () => {
    const saves = [save(15, 18, "v1", "unknown"), save(20, 21, "v2")];
    expect(broken(login(), ...saves, read(23, 24, live({ value: "v1" })))).toEqual([]);
  });
});

describe("generation-order", () => {
  test("a number is used twice, or a later one is lower", () => {
    expect(broken(everywhere(1, 2, "ok", "100"), everywhere(3, 4, "ok", "100"))).toEqual(["generation-order"]);
    expect(broken(everywhere(1, 3, "ok", "100"), everywhere(2, 4, "ok", "100"))).toEqual(["generation-order"]);
    expect(broken(everywhere(1, 2, "ok", "101"), everywhere(3, 4, "ok", "100"))).toEqual(["generation-order"]);
    expect(broken(everywhere(1, 3, "ok", "101"), everywhere(2, 4, "ok", "100"))).toEqual([]);
  });

  test("a login begins under a number from before a logout", () => {
    expect(broken(everywhere(1, 2, "ok", "101"), login())).toEqual(["generation-order"]);
    expect(broken(everywhere(1, 2, "ok", "100"), login())).toEqual([]);
  });
});

test("reused-session-id: one ID for two sessions", () => {
  expect(broken(visit({ created: "s1" }), login())).toEqual(["reused-session-id"]);
});

test("every rule says what its violation means and shows the operations", () => {
  const [violation] = checkHistory([login(), everywhere(20, 21), read(22, 23, live())], LATE);
  expect(violation?.message).toBe(RULES["logged-out-read"]);
  expect(violation?.operations.map(({ kind }) => kind)).toEqual(["login", "everywhere", "read"]);
});

test("docs: docs/testing.md has a row for each mutation, with the rule that notices it", () => {
  const page = readFileSync(new URL("../../docs/testing.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| `([a-z-]+)` \| (.*) \| `([a-z-]+)`: (.*?) \|/gm)].map((row) => row.slice(1, 5));
  const expected = Object.entries(MUTATIONS).map(([name, { breaks, noticedAs }]) => {
    return [name, breaks, noticedAs, RULES[noticedAs]];
  });
  expect(rows).toEqual(expected);
});
