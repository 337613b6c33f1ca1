// Compiled, never run: the CommonJS declarations.
import session = require("express-session");
import ioredis = require("ioredis");
import library = require("logout-everywhere");

new library.GenerationStore({ client: new ioredis.Redis() }) satisfies session.Store;
library.loginOf(null) satisfies library.Login | undefined;
// @ts-expect-error: there is no default export
library.default;
