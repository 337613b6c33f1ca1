// Compiled, never run: the store's types as an application sees them, from the built package.
import type { IncomingMessage } from "node:http";
import type { Request } from "express";
import session, { type SessionData } from "express-session";
import { Cluster, Redis } from "ioredis";
import RedisMock from "ioredis-mock";
import { Cluster as Cluster6, Redis as Redis6 } from "ioredis6";
import {
  GenerationStore,
  type GenerationStoreOptions,
  type LoginAttempt,
  type LogoutReceipt,
  type RedisClient,
  type UserId,
} from "logout-everywhere";
import { type Equals, is } from "./equals.js";

declare module "express-session" {
  interface SessionData {
    cart: string[];
  }
}

declare const req: Request;
declare const upgrade: IncomingMessage;

const store = new GenerationStore({ client: new Redis() });
session({ store, secret: "s" });

// Every supported client fits.
new GenerationStore({ client: new Redis({ lazyConnect: true, keyPrefix: "app:" }) });
new GenerationStore({ client: new Cluster([]) });
new GenerationStore({ client: new Redis6() });
new GenerationStore({ client: new Cluster6([]) });
new GenerationStore({ client: new RedisMock() });

// Options: all optional but the client, undefined allowed, units in the names.
const undefinedOptions: GenerationStoreOptions = {
  client: new Redis(),
  sessionPrefix: undefined,
  generationPrefix: undefined,
  ttlMs: undefined,
  touchIntervalMs: undefined,
  commandTimeoutMs: undefined,
  primaryCheckIntervalMs: undefined,
  generationTtlMs: undefined,
  absoluteTtlMs: undefined,
  maxSessionBytes: undefined,
  userId: undefined,
};
new GenerationStore(undefinedOptions);
new GenerationStore({ client: new Redis(), userId: (loaded) => loaded.cart?.[0] });
// @ts-expect-error: a client is needed
new GenerationStore();
// @ts-expect-error: a client is needed
new GenerationStore({});
// @ts-expect-error: a URL is no client
new GenerationStore({ client: "redis://localhost" });
// @ts-expect-error: no such option
new GenerationStore({ client: new Redis(), ttl: 60 });
// @ts-expect-error: a number of milliseconds
new GenerationStore({ client: new Redis(), ttlMs: "1d" });
// @ts-expect-error: options are not changed after construction
undefinedOptions.ttlMs = 1;

// The application's own session data arrives typed, and is not widened.
is<Equals<SessionData["cart"], string[]>>();
is<Equals<keyof SessionData, "cart" | "cookie">>();
is<Equals<Awaited<ReturnType<typeof store.readRequest>>, SessionData | null>>();

// Store methods: a promise without a callback, nothing with one.
is<Equals<typeof loaded, SessionData | null>>();
const loaded = await store.get("id");
is<Equals<typeof pending, void>>();
const pending = store.get("id", (error, found) => {
  is<Equals<typeof error, unknown>>();
  is<Equals<typeof found, SessionData | null | undefined>>();
});
const data = loaded as SessionData;
is<Equals<typeof saved, Promise<void>>>();
const saved = store.set("id", data);
is<Equals<typeof touched, Promise<void>>>();
const touched = store.touch("id", data);
is<Equals<typeof destroyed, Promise<void>>>();
const destroyed = store.destroy("id");
is<Equals<typeof cleared, Promise<void>>>();
const cleared = store.clear();
is<Equals<typeof count, number>>();
const count = await store.length();
is<Equals<typeof ids, string[]>>();
const ids = await store.ids();
is<Equals<typeof all, (SessionData & { id: string })[]>>();
const all = await store.all();
store.set("id", data, undefined);
store.destroy("id", () => undefined);

// Logging in and out.
is<Equals<UserId, string | number | bigint>>();
is<Equals<typeof attempt, LoginAttempt>>();
const attempt = await store.beginLogin("100", req);
await store.beginLogin(100n);
await store.login(req, attempt);
await store.login(req, 100, { keep: ["cart"] });
await store.login(req, store.resumeLogin(String(attempt)), { keep: true });
await store.rotate(req);
is<Equals<typeof receipt, LogoutReceipt>>();
const receipt = await store.logoutEverywhere("100", { replicas: 1, timeoutMs: 500, reason: "password changed" });
is<Equals<LogoutReceipt, { readonly userId: string; readonly generation: string; readonly replicas: number }>>();
is<Equals<Awaited<ReturnType<typeof store.logoutOthers>>, LogoutReceipt>>();
is<Equals<Awaited<ReturnType<typeof store.generation>>, string | undefined>>();
is<Equals<Awaited<ReturnType<typeof store.isCurrent>>, boolean>>();
await store.isCurrent(req);
await store.isCurrent({ userId: "100", generation: "1" });
await store.readRequest(upgrade, { secret: ["new", "old"], name: "sid" });
// @ts-expect-error: an upgrade request has not passed express-session
await store.login(upgrade, attempt);
// @ts-expect-error: a request body is no login attempt
await store.login(req, { userId: "100", generation: "1" });
// @ts-expect-error: no user
await store.logoutEverywhere(null);
// @ts-expect-error: the secret is needed
await store.readRequest(upgrade, {});
// @ts-expect-error: attempts are made by beginLogin only
({ toString: () => "", toJSON: () => "" }) satisfies LoginAttempt;

// A client of another make fits by shape.
declare const custom: RedisClient;
new GenerationStore({ client: custom });
