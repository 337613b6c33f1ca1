// @ts-check
/**
 * Starts the shop: `npm run demo`, or `node examples/shop/server.js` after a build. Settings: see settings.js.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { createApp } from "./app.js";
import { connect } from "./connect.js";
import { readSettings } from "./settings.js";

/** How long requests in flight may take to end after a signal. */
const GRACE_MS = 5_000;

async function start() {
  const settings = readSettings(process.env);
  const { client, description } = await connect(settings.redisUrl);
  const { app, store } = createApp({ ...settings, client });
  const server = createServer(app);

  const stop = async () => {
    const closed = once(server, "close");
    server.close();
    setTimeout(() => server.closeAllConnections(), GRACE_MS).unref();
    await closed;
    await store.close();
    client.disconnect();
  };

  try {
    server.listen(settings.port, settings.host);
    await once(server, "listening");
  } catch (error) {
    client.disconnect();
    throw error;
  }
  // `once`: a second signal ends the process at once.
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, stop);

  const address = server.address();
  const port = address !== null && typeof address === "object" ? address.port : settings.port;
  console.log(description);
  if (!settings.hasOwnSecret) {
    console.log("SESSION_SECRET is not set: using a random one, so a restart signs everybody out.");
  }
  if (!settings.hasOwnTokenSecret) {
    console.log("SUBMIT_TOKEN_SECRET is not set: using a random one, so forms that are open now outlive no restart.");
  }
  console.log(
    `The shop is open at http://${settings.host.includes(":") ? `[${settings.host}]` : settings.host}:${port}/`,
  );
}

try {
  await start();
} catch (error) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
  if (code === "EADDRINUSE") console.error("The port is in use. Choose another one: PORT=3001 npm run demo");
  else if (code === "ERR_SHOP_SETTING") console.error(message);
  else console.error(error);
  process.exitCode = 1;
}
