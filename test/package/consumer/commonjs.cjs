// What a CommonJS application gets.
const assert = require("node:assert/strict");
const session = require("express-session");
const { Redis } = require("ioredis");
const library = require("logout-everywhere");

assert.match(require.resolve("logout-everywhere"), /dist[\\/]cjs[\\/]index\.js$/);
assert.equal(require("logout-everywhere/package.json").name, "logout-everywhere");
const client = new Redis({ lazyConnect: true });
const store = new library.GenerationStore({ client });
assert.ok(store instanceof session.Store);
assert.equal(library.loginOf({}), undefined);
assert.throws(() => new library.GenerationStore(), TypeError);
assert.throws(() => require("logout-everywhere/dist/cjs/check.js"), { code: "ERR_PACKAGE_PATH_NOT_EXPORTED" });
console.log("ok");
