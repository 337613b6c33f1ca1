import { isBirth } from "./lineage.js";
import type { Exchange, Login, Operation, Save } from "./operations.js";
import type { Report } from "./read-rules.js";
import { mayEndOthers, type Timeline } from "./timeline.js";

/** Holds logins, moves and saves against the logouts around them. */
export function checkWrites(timeline: Timeline, report: Report): void {
  for (const operation of timeline.operations) {
    if (operation.kind === "login") checkLogin(timeline, operation, report);
    if (operation.kind === "rotate" || operation.kind === "others") checkExchange(timeline, operation, report);
    if (operation.kind === "save" && operation.outcome === "refused") checkRefusal(timeline, operation, report);
  }
  checkCreated(timeline, report);
}

function checkLogin(timeline: Timeline, login: Login, report: Report): void {
  const { begun, user, outcome } = login;
  const endings = timeline.userEndings(user);
  if (outcome === "ok") {
    const logout = endings.someDone({ from: begun.to, to: login.from });
    if (logout !== undefined) report("superseded-login", logout, login);
    return;
  }
  if (login.cookie !== undefined && login.cookie !== login.sid) report("failed-login-cookie", login);
  if (outcome !== "refused") return;
  const cause = endings.someWithin({ from: begun.from, to: login.to }, mayEndOthers);
  if (cause === undefined) report("refused-without-cause", login);
}

function checkExchange(timeline: Timeline, exchange: Exchange, report: Report): void {
  if (exchange.outcome === "refused") checkRefusal(timeline, exchange, report);
  if (exchange.outcome !== "ok") {
    if (exchange.cookie !== undefined && exchange.cookie !== exchange.sid) report("failed-login-cookie", exchange);
    return;
  }
  const endings = timeline.sidEndings(exchange.sid);
  const ended = endings.someDone({ from: 0, to: exchange.from });
  if (ended !== undefined) report("ended-exchange", ended, exchange);
  // Of several at once, one wins.
  const twin = endings.someWithin(
    { from: exchange.from, to: exchange.to },
    (other) =>
      other !== exchange &&
      other.outcome === "ok" &&
      other.from >= exchange.from &&
      (other.kind === "rotate" || other.kind === "others"),
  );
  if (twin !== undefined) report("ended-exchange", exchange, twin);
}

function checkRefusal(timeline: Timeline, refused: Exchange | Save, report: Report): void {
  const origin = timeline.origins.get(refused.sid);
  if (origin === undefined || timeline.causeOfEnd(origin, refused.to, refused) !== undefined) return;
  report("refused-without-cause", ...origin.path, refused);
}

function checkCreated({ operations }: Timeline, report: Report): void {
  const givenOut = new Map<string, Operation>();
  for (const operation of operations) {
    if (!isBirth(operation) || operation.created === undefined) continue;
    const first = givenOut.get(operation.created);
    if (first !== undefined) report("reused-session-id", first, operation);
    givenOut.set(operation.created, operation);
  }
}
