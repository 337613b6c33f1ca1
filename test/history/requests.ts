import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { sign, unsign } from "cookie-signature";
import type { Request, RequestHandler, Response } from "express";
import session from "express-session";
import { type GenerationStore, loginOf, type SessionRequest } from "../../src/index.js";
import type { Seen } from "./operations.js";

const SECRET = "history";
const COOKIE = "connect.sid";

/** A request that has come through express-session. */
export interface Arrived {
  readonly req: SessionRequest;
  readonly sid: string | undefined;
  /** What the session held on arrival; `null` if the cookie's session is not there, `undefined` without a cookie. */
  readonly seen: Seen | null | undefined;
  readonly arrivedAt: number;
}

/** How a request ended. */
export interface Answered {
  /** The first error of the session middleware: of its read, or of its save or touch at the end. */
  readonly error: unknown;
  /** Whether the handler ran: the read at the beginning worked. */
  readonly hasArrived: boolean;
  /** The session ID in the response's cookie. */
  readonly cookie: string | undefined;
  /** When the response was about to end: from here on express-session saves. */
  readonly endedAt: number;
  /** False if express-session had no session ID to save under, since the ID was retired. */
  readonly isSaved: boolean;
}

/** Now, on the clock that all processes of the machine share, in microseconds. */
export function nowUs(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}

/**
 * An application without the network: requests go through express-session and a handler as they would in Express, at a tenth of
 * the cost. What is under test lies below.
 */
export class RequestLine {
  readonly #middleware: RequestHandler;
  /** Session IDs that the next visits are to be given, although they are in use. */
  #forcedId: string | undefined;

  constructor(store: GenerationStore, newId: () => string) {
    this.#middleware = session({
      store,
      secret: SECRET,
      resave: false,
      saveUninitialized: false,
      genid: () => {
        const forced = this.#forcedId;
        this.#forcedId = undefined;
        return forced ?? newId();
      },
    });
  }

  /** The next session ID is this one: a `genid` that repeats itself. Call right before a request without a cookie. */
  forceId(sid: string): void {
    this.#forcedId = sid;
  }

  async send(sid: string | undefined, handle: (arrived: Arrived) => Promise<void>): Promise<Answered> {
    const req = new IncomingMessage(new Socket()) as SessionRequest;
    Object.assign(req, { url: "/", method: "GET" });
    if (sid !== undefined) req.headers.cookie = `${COOKIE}=s:${sign(sid, SECRET)}`;
    const res = new ServerResponse(req);
    Object.assign(req, { res });
    const ended = new Promise<void>((resolve) => {
      const end = res.end.bind(res) as (...args: unknown[]) => ServerResponse;
      Object.assign(res, {
        end: (...args: unknown[]) => {
          end(...args);
          resolve();
          return res;
        },
      });
    });
    const errors: unknown[] = [];
    const arrival = await this.#arrive(req, res, errors);
    if (!arrival) return { error: errors[0], hasArrived: false, cookie: undefined, endedAt: nowUs(), isSaved: false };
    const arrivedAt = nowUs();
    await handle({ req, sid, seen: sid === undefined ? undefined : seenBy(req, sid), arrivedAt });
    const endedAt = nowUs();
    const isSaved = typeof req.sessionID === "string";
    res.end();
    await ended;
    // express-session hands over the error of a save in a `setImmediate`.
    await new Promise((resolve) => setImmediate(resolve));
    return { error: errors[0], hasArrived: true, cookie: sidOfCookie(res), endedAt, isSaved };
  }

  /** True if express-session let the request pass. Errors after that, from the end of the response, come later. */
  #arrive(req: IncomingMessage, res: ServerResponse, errors: unknown[]): Promise<boolean> {
    return new Promise((resolve) => {
      this.#middleware(req as Request, res as Response, (error?: unknown) => {
        if (error !== undefined) errors.push(error);
        resolve(error === undefined);
      });
    });
  }
}

function seenBy(req: SessionRequest, sid: string): Seen | null {
  if (req.sessionID !== sid) return null;
  return seenIn(req.session);
}

/** What session data shows to a reader. */
export function seenIn(data: object): Seen {
  const login = loginOf(data);
  const { value } = data as { readonly value?: unknown };
  return {
    user: login?.userId ?? "",
    generation: login?.generation ?? "",
    value: typeof value === "string" ? value : "",
  };
}

function sidOfCookie(res: ServerResponse): string | undefined {
  const header = res.getHeader("Set-Cookie");
  const line = Array.isArray(header) ? header[0] : header;
  if (typeof line !== "string") return undefined;
  const value = decodeURIComponent(line.slice(COOKIE.length + 1, line.indexOf(";")));
  const sid = unsign(value.slice("s:".length), SECRET);
  return sid === false ? undefined : sid;
}

/** A cookie header that carries this session ID. */
export function cookieHeader(sid: string): string {
  return `${COOKIE}=${encodeURIComponent(`s:${sign(sid, SECRET)}`)}`;
}

export { SECRET };
