// @ts-check
/**
 * The application under load, in a process of its own: `node bench/app.mjs <side> <redis port>`. Prints its port; answers
 * GET / with the visitor's data, and tells its CPU time over IPC when asked.
 */
import { addPage, appWith, serve } from "./served.mjs";
import { connectRedisSide, ourSide } from "./sides.mjs";

const [side = "", redisPort = ""] = process.argv.slice(2);
const sides = {
  base: () => connectRedisSide(Number(redisPort)),
  ours: () => ourSide(Number(redisPort)),
  "ours-every-touch": () => ourSide(Number(redisPort), { touchIntervalMs: 0 }),
};
const { store } = await sides[side]();

const app = appWith(store);
addPage(app);
await serve(app);
