import type { Origin } from "./lineage.js";
import type { Operation, Read, Rule, Seen } from "./operations.js";
import type { Timeline } from "./timeline.js";

export type Report = (rule: Rule, ...operations: readonly (Operation | undefined)[]) => void;

/** Holds every read against what had happened before it. */
export function checkReads(timeline: Timeline, report: Report): void {
  const goneSince = firstFoundGone(timeline);
  for (const read of timeline.reads) {
    const { sid, seen, outcome } = read;
    const origin = timeline.origins.get(sid);
    if (outcome !== "ok" || seen === undefined || origin === undefined) continue;
    if (seen === null) {
      if (read.from <= origin.birth.to) continue;
      if (timeline.causeOfEnd(origin, read.to) === undefined) report("lost-session", ...origin.path, read);
      continue;
    }
    if (seen.user === "" && origin.user !== "" && timeline.isForced(sid)) {
      // Another visit was given the same ID: it may have taken the place of a session that had ended, but of no other.
      if (timeline.causeOfEnd(origin, read.to) === undefined) report("foreign-read", ...origin.path, read);
      continue;
    }
    const gone = goneSince.get(sid);
    if (gone !== undefined && gone.to < read.from) report("revived", ...origin.path, gone, read);
    checkLogouts(timeline, origin, read, report);
    checkContent(timeline, origin, read, seen, report);
  }
}

/** The first read to end that found nothing under an ID that had been given out. */
function firstFoundGone({ reads, origins }: Timeline): Map<string, Read> {
  const first = new Map<string, Read>();
  for (const read of reads) {
    const origin = origins.get(read.sid);
    if (read.seen !== null || origin === undefined || read.from <= origin.birth.to) continue;
    const known = first.get(read.sid);
    if (known === undefined || read.to < known.to) first.set(read.sid, read);
  }
  return first;
}

function checkLogouts(timeline: Timeline, origin: Origin, read: Read, report: Report): void {
  const ended = timeline.sidEndings(origin.sid).someDone({ from: 0, to: read.from });
  if (ended !== undefined) report("ended-read", ...origin.path, ended, read);
  const { login, path } = origin;
  if (login === undefined) return;
  const own: ReadonlySet<Operation> = new Set(path);
  const logout = timeline
    .userEndings(origin.user)
    .someDone({ from: login.begun.to, to: read.from }, (operation) => !own.has(operation));
  if (logout !== undefined) report("logged-out-read", ...path, logout, read);
  const change = timeline
    .passwordChanges(origin.user)
    .find(
      ({ outcome, version, to, spared }) =>
        outcome === "ok" &&
        version > login.password &&
        to < read.from &&
        !path.some(({ created }) => created !== undefined && created === spared),
    );
  if (change !== undefined) report("old-password-read", ...path, change, read);
}

function checkContent(timeline: Timeline, origin: Origin, read: Read, seen: Seen, report: Report): void {
  if (seen.user !== origin.user || seen.generation !== origin.generation) {
    report("foreign-read", ...origin.path, read);
    return;
  }
  if (seen.value === undefined) return;
  const writes = timeline.writesTo(origin.sid);
  if (seen.value === "") {
    const newer = writes.someDone({ from: 0, to: read.from });
    if (newer !== undefined) report("lost-save", ...origin.path, newer, read);
    return;
  }
  const write = timeline.writeOf.get(seen.value);
  const writtenTo = write?.kind === "visit" ? write.created : write?.sid;
  const isOwn = writtenTo === origin.sid;
  const isInherited = writtenTo !== undefined && origin.dataFrom.has(writtenTo);
  if (write === undefined || !(isOwn || isInherited)) {
    report("foreign-read", ...origin.path, write, read);
    return;
  }
  const newer = writes.someDone({ from: isOwn ? timeline.endOf(write) : 0, to: read.from });
  if (newer !== undefined) report("lost-save", ...origin.path, write, newer, read);
}
