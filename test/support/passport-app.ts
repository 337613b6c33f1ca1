import type { Express } from "express";
import { urlencoded } from "express";
import { Passport } from "passport";
import { Strategy } from "passport-local";
import type { GenerationStore, RedisClient } from "../../src/index.js";
import { type TestApp, testApp } from "./app.js";

/** What a Passport application of the test's can vary. */
export interface PassportSetup {
  /** Runs around the check of the password. */
  readonly pause?: (user: string, when: "before the check" | "after the check") => Promise<void>;
  /** Whether `verify` calls `beginLogin(id, req)`, as the recipe says. */
  readonly isAttemptBegun?: boolean;
  /** The store's client, if not one of the application's own. */
  readonly client?: RedisClient;
}

export interface PassportApp extends TestApp {
  readonly passwords: Map<string, string>;
}

/**
 * Passport 0.7 with a local strategy on the `userId` option: POST /sign-in (username, password, keep=1), /sign-out (keep=1),
 * /change-password (password). Everybody's password is "old" at first.
 */
export async function passportApp(setup: PassportSetup = {}): Promise<PassportApp> {
  const { pause = () => Promise.resolve(), isAttemptBegun = true } = setup;
  const passwords = new Map<string, string>();
  const passport = new Passport();
  const app = await testApp({
    store: {
      ...(setup.client === undefined ? {} : { client: setup.client }),
      userId: (data) => (data["passport"] as { user?: string } | undefined)?.user,
    },
    routes: (express, store) => {
      express.use(urlencoded({ extended: false }));
      passport.serializeUser((user, done) => done(null, (user as { id: string }).id));
      passport.deserializeUser((id, done) => done(null, { id } as Express.User));
      passport.use(
        new Strategy({ passReqToCallback: true }, async (req, username, password, done) => {
          try {
            if (isAttemptBegun) await store.beginLogin(username, req);
            await pause(username, "before the check");
            const isRight = (passwords.get(username) ?? "old") === password;
            await pause(username, "after the check");
            done(null, isRight ? { id: username } : false);
          } catch (error) {
            done(error);
          }
        }),
      );
      express.use(passport.session());
      addRoutes(express, store, passport, passwords);
    },
  });
  return { ...app, passwords };
}

function addRoutes(
  app: Express,
  store: GenerationStore,
  passport: InstanceType<typeof Passport>,
  passwords: Map<string, string>,
): void {
  app.post("/sign-in", (req, res, next) => {
    const options = { keepSessionInfo: req.body.keep === "1" };
    passport.authenticate("local", options)(req, res, (error: unknown) => {
      if (error) next(error);
      else res.json({ user: (req.user as { id: string }).id });
    });
  });
  app.post("/sign-out", (req, res, next) => {
    req.logout({ keepSessionInfo: req.body.keep === "1" }, (error) => (error ? next(error) : res.redirect("/me")));
  });
  app.post("/change-password", async (req, res) => {
    const { id } = req.user as { id: string };
    passwords.set(id, req.body.password);
    res.json(await store.logoutOthers(req));
  });
}
