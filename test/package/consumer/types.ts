// What a TypeScript application writes; compiled under several module settings.
import session from "express-session";
import { Cluster, Redis } from "ioredis";
import { GenerationStore, type Login, type LogoutReceipt, loginOf, requireLogin } from "logout-everywhere";

declare module "express-session" {
  interface SessionData {
    cart: string[];
  }
}

type Equals<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function is<_Check extends true>(): void {}

const store = new GenerationStore({ client: new Redis(), ttlMs: 60_000 });
new GenerationStore({ client: new Cluster([{ host: "127.0.0.1", port: 7000 }]) });
session({ store, secret: "secret" });
requireLogin({ maxAgeMs: 60_000 });

is<Equals<session.SessionData["cart"], string[]>>();
is<Equals<keyof session.SessionData, "cart" | "cookie">>();
is<Equals<ReturnType<typeof loginOf>, Login | undefined>>();

export async function logOut(userId: string): Promise<LogoutReceipt> {
  const loaded = await store.get("id");
  is<Equals<typeof loaded, session.SessionData | null>>();
  return store.logoutEverywhere(loginOf(loaded)?.userId ?? userId);
}
