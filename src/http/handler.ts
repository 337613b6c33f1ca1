import type { IncomingMessage, ServerResponse } from "node:http";

/** Express' `next`. */
export type NextFunction = (error?: unknown) => void;

/**
 * A middleware for Express 4 and 5, and for any `http` framework that calls `(req, res, next)`. Written against Node's own
 * types, so that no Express types are needed.
 */
export type RequestHandler = (req: IncomingMessage, res: ServerResponse, next: NextFunction) => void;
