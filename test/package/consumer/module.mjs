// What an ESM application gets.
import assert from "node:assert/strict";
import session from "express-session";
import { Redis } from "ioredis";
import * as library from "logout-everywhere";

assert.match(import.meta.resolve("logout-everywhere"), /dist\/esm\/index\.js$/);
assert.equal("default" in library, false);
const client = new Redis({ lazyConnect: true });
const store = new library.GenerationStore({ client });
assert.ok(store instanceof session.Store);
assert.equal(library.loginOf({}), undefined);
assert.throws(() => new library.GenerationStore(), TypeError);
console.log("ok");
