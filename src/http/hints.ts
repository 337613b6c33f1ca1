const given = new Set<string>();

/** Tells the team, once per process, of a mistake in its set-up that visitors pay for. */
export function hintOnce(subject: string, hint: string | undefined): void {
  if (hint === undefined || given.has(hint)) return;
  given.add(hint);
  process.emitWarning(`${subject}: ${hint}`, {
    type: "LogoutEverywhereWarning",
    code: "LOGOUT_EVERYWHERE_SET_UP",
  });
}
