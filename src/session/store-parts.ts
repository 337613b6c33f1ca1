import { SessionDataError } from "../errors.js";
import { RedisConnection } from "../redis/connection.js";
import { replicationOf } from "../redis/replication.js";
import { ClusterSessionReader } from "./cluster-reader.js";
import { DataUser, looksSignedIn } from "./data-user.js";
import { Generations } from "./generations.js";
import { LifetimePlan } from "./lifetime-plan.js";
import { LoginFlow } from "./login-flow.js";
import { Logout } from "./logout.js";
import { LogoutJournal } from "./logout-journal.js";
import { MountGenerate } from "./mount-generate.js";
import { serializeSession } from "./payload.js";
import { SessionReader } from "./reader.js";
import { RecentSessions } from "./recent-sessions.js";
import { peekRequestState, type RequestState } from "./request-state.js";
import { RetiredSessions } from "./retired-sessions.js";
import type { SessionBinding } from "./session-binding.js";
import { SessionDirectory } from "./session-directory.js";
import { SessionExchange } from "./session-exchange.js";
import { SessionLoader } from "./session-loader.js";
import { SessionWriter, type StampSource } from "./session-writer.js";
import { stampFor } from "./stamping.js";
import { StoreEvents } from "./store-events.js";
import { type GenerationStoreOptions, storeConfiguration } from "./store-options.js";
import { SessionToucher } from "./toucher.js";

/** The working parts of a store, wired up. */
export interface StoreParts {
  readonly generations: Generations;
  readonly loader: SessionLoader;
  readonly writer: SessionWriter;
  readonly directory: SessionDirectory;
  readonly flow: LoginFlow;
  readonly logout: Logout;
  readonly lifetimes: LifetimePlan;
  readonly dataUser: DataUser;
  readonly retired: RetiredSessions;
  readonly mount: MountGenerate;
  readonly events: StoreEvents;
  /** Session data to text; throws a `SessionDataError` for what cannot be stored. */
  readonly serialize: (data: object) => string;
  /** How users who appear in this session's data are stamped. */
  readonly stampFor: (data: object) => StampSource;
  /** Tells a team that forgot `login()` that its users are not protected. */
  readonly warnIfUnprotected: (binding: SessionBinding, data: object) => void;
  readonly close: () => void;
}

/** Builds a store's parts; throws a `TypeError` for options it cannot use. */
export function storeParts(options: GenerationStoreOptions, emit: (name: string, event: unknown) => void): StoreParts {
  const config = storeConfiguration(options);
  const { client, sessionPrefix, commandTimeoutMs } = config;
  const redis = new RedisConnection(client, commandTimeoutMs);
  redis.watchPrimary(config.primaryCheckIntervalMs);
  const replication = replicationOf(client, commandTimeoutMs);
  const generations = new Generations(redis, config.generationPrefix, config.generationTtlMs);
  const events = new StoreEvents(emit);
  const recent = new RecentSessions();
  const retired = new RetiredSessions();
  const lifetimes = new LifetimePlan(config, config.absoluteTtlMs);
  const dataUser = new DataUser(config.userId);
  const mount = new MountGenerate();
  const serialize = (data: object): string => checkedSize(serializeSession(data), config.maxSessionBytes);

  const journal = new LogoutJournal({ redis, generations, events, sessionPrefix });
  const reader = new (readerOn(redis))(redis, generations, recent, sessionPrefix);
  const loader = new SessionLoader({ redis, reader, dataUser, lifetimes, retired, events, sessionPrefix });
  const directory = new SessionDirectory({ redis, loader, recent, retired, journal, sessionPrefix });
  const toucher = new SessionToucher(redis);
  const writer = new SessionWriter({ redis, generations, recent, retired, toucher, lifetimes, sessionPrefix });
  const exchange = new SessionExchange({
    redis,
    writer,
    retired,
    journal,
    lifetimes,
    dataUser,
    mount,
    serialize,
    sessionPrefix,
  });
  const flow = new LoginFlow({ generations, exchange, endSession: (sid) => directory.destroy(sid) });
  return {
    generations,
    loader,
    writer,
    directory,
    flow,
    logout: new Logout({ generations, flow, replication, journal, events }),
    lifetimes,
    dataUser,
    retired,
    mount,
    events,
    serialize,
    stampFor: (data) => (userText, deadline) => stampFor(generations, stateBehind(data), userText, deadline),
    warnIfUnprotected: unprotectedWarning(dataUser, events),
    close: () => {
      journal.close();
      redis.close();
      replication.close();
    },
  };
}

function readerOn({ isClustered }: RedisConnection): typeof SessionReader | typeof ClusterSessionReader {
  return isClustered ? ClusterSessionReader : SessionReader;
}

function stateBehind(session: object): RequestState | undefined {
  const { req } = session as { readonly req?: object };
  return req === undefined ? undefined : peekRequestState(req);
}

function checkedSize(payload: string, maxBytes: number): string {
  // A UTF-16 unit is at most three bytes of UTF-8: most sessions need no count.
  if (payload.length * 3 <= maxBytes || Buffer.byteLength(payload) <= maxBytes) return payload;
  throw new SessionDataError(
    "ERR_SESSION_TOO_LARGE",
    `The session is larger than ${maxBytes} bytes (maxSessionBytes) and was not saved; the stored one is unchanged`,
  );
}

function unprotectedWarning(dataUser: DataUser, events: StoreEvents): StoreParts["warnIfUnprotected"] {
  let warned = false;
  return (binding, data) => {
    if (dataUser.isConfigured || binding.login !== undefined || !looksSignedIn(data)) return;
    events.emit("unprotected", {});
    if (warned) return;
    warned = true;
    process.emitWarning(
      "A session that looks signed in was saved without a login: log out everywhere cannot end it. Sign users in with " +
        "store.login(req, …), or give the store a userId option for login libraries such as Passport.",
      { type: "LogoutEverywhereWarning", code: "LOGOUT_EVERYWHERE_UNPROTECTED" },
    );
  };
}
