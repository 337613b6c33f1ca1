import type { Request } from "express";

/** `req.session.save()` as a promise. */
export function save(req: Request): Promise<void> {
  return new Promise((resolve, reject) => req.session.save((error: unknown) => (error ? reject(error) : resolve())));
}

/** `req.session.regenerate()` as a promise. */
export function regenerate(req: Request): Promise<void> {
  return new Promise((resolve, reject) =>
    req.session.regenerate((error: unknown) => (error ? reject(error) : resolve())),
  );
}

/** `req.session.reload()` as a promise. */
export function reload(req: Request): Promise<void> {
  return new Promise((resolve, reject) => req.session.reload((error: unknown) => (error ? reject(error) : resolve())));
}
