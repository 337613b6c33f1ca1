// @ts-check
/** What the applications under load share: each runs in a process of its own and is asked over IPC for its port and CPU time. */
import { once } from "node:events";
import express from "express";
import session from "express-session";

/** An application with sessions in this store. @param {session.Store} store */
export function appWith(store) {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.use(
    session({ store, secret: "benchmark", resave: false, saveUninitialized: false, cookie: { maxAge: 3_600_000 } }),
  );
  return app;
}

/** Answers GET / with the visitor's data. @param {express.Express} app */
export function addPage(app) {
  app.get("/", (req, res) => {
    const { cart } = /** @type {any} */ (req.session);
    if (cart === undefined) res.status(500).end("not signed in");
    else res.json({ cart });
  });
}

/** Listens, tells the port, and the CPU time when asked. @param {express.Express} app */
export async function serve(app) {
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  process.send?.({ port: typeof address === "object" ? address?.port : undefined });
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send?.({ cpuUs: user + system });
  });
  process.on("disconnect", () => process.exit());
}
