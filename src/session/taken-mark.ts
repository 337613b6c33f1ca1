/** The mark that `take-record` leaves in a record's place for a moment; it can be read as no record. */
const MARK = "~taken:";

export function takenMark(nonce: string): string {
  return MARK + nonce;
}

export function isTakenMark(text: string): boolean {
  return text.startsWith(MARK);
}
