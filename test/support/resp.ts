/** Just enough of the Redis protocol (RESP2 and RESP3) to cut a byte stream into commands and replies. */

const LINE_END = Buffer.from("\r\n");

/** Takes bytes as they come and gives back whole frames. */
export class FrameReader {
  #bytes: Buffer = Buffer.alloc(0);

  /** Adds a chunk; answers the frames that are complete now, each with its exact bytes. */
  take(chunk: Buffer): Buffer[] {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    const frames: Buffer[] = [];
    for (;;) {
      const end = frameEnd(this.#bytes, 0);
      if (end === undefined) return frames;
      frames.push(this.#bytes.subarray(0, end));
      this.#bytes = this.#bytes.subarray(end);
    }
  }
}

/** The words of a command frame; the command's name in lower case. */
export function commandWords(frame: Buffer): string[] {
  const words: string[] = [];
  let at = lineEnd(frame, 0);
  while (at !== undefined && at < frame.length) {
    const start: number | undefined = lineEnd(frame, at);
    if (start === undefined) break;
    const length = Number(frame.toString("latin1", at + 1, start - LINE_END.length));
    words.push(frame.toString("utf8", start, start + length));
    at = start + length + LINE_END.length;
  }
  return words.map((word, index) => (index === 0 ? word.toLowerCase() : word));
}

/** Where the line that starts at `at` ends, its CR LF included. */
function lineEnd(bytes: Buffer, at: number): number | undefined {
  const end = bytes.indexOf(LINE_END, at);
  return end < 0 ? undefined : end + LINE_END.length;
}

function frameEnd(bytes: Buffer, at: number): number | undefined {
  const start = lineEnd(bytes, at);
  if (start === undefined) return undefined;
  const type = String.fromCharCode(bytes[at] ?? 0);
  const count = Number(bytes.toString("latin1", at + 1, start - LINE_END.length));
  if ("$!=".includes(type)) {
    const end = count < 0 ? start : start + count + LINE_END.length;
    return end <= bytes.length ? end : undefined;
  }
  if (!"*~>%".includes(type)) return start;
  let end: number | undefined = start;
  for (let left = type === "%" ? 2 * count : count; left > 0 && end !== undefined; left -= 1) {
    end = end < bytes.length ? frameEnd(bytes, end) : undefined;
  }
  return end;
}
