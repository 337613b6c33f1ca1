import type { IncomingMessage } from "node:http";
import { sign } from "cookie-signature";

/** A bare request that carries this session ID as express-session's cookie would, signed as in `testApp`. */
export function signedCookie(sid: string): IncomingMessage {
  const cookie = `connect.sid=${encodeURIComponent(`s:${sign(sid, "test secret")}`)}`;
  return { headers: { cookie } } as IncomingMessage;
}
