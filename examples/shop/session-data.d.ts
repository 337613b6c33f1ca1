import "express-session";

declare module "express-session" {
  interface SessionData {
    /** A message for the next page. */
    notice?: string;
  }
}
