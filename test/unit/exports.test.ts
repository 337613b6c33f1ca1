import { readFileSync } from "node:fs";
import ts from "typescript";
import { expect, test } from "vitest";
import * as api from "../../src/index.js";

const VALUES = [
  "GenerationStore",
  "IdempotencyError",
  "LoginError",
  "LogoutEverywhereError",
  "LogoutUnconfirmedError",
  "RedisError",
  "SessionDataError",
  "SubmitTokenError",
  "adminLogout",
  "idempotency",
  "loginOf",
  "requireLogin",
  "signedOutReason",
  "submitTokens",
];

const TYPES = [
  "AdminLogoutOptions",
  "CorruptEvent",
  "ErrorCode",
  "FencedEvent",
  "FingerprintOption",
  "GenerationStoreOptions",
  "IdempotencyAnswer",
  "IdempotencyControl",
  "IdempotencyOptions",
  "IdempotencyRefusal",
  "IssueOptions",
  "KeepOption",
  "Login",
  "LoginAttempt",
  "LoginOptions",
  "LoginStamp",
  "LogoutEvent",
  "LogoutOptions",
  "LogoutReceipt",
  "NextFunction",
  "ProtectOptions",
  "ReadRequestOptions",
  "ReappliedEvent",
  "RedisClient",
  "RedisClientOptions",
  "RedisClientStream",
  "RedisPipeline",
  "RequestHandler",
  "RequireLoginOptions",
  "ScopeOption",
  "ScriptOptions",
  "ScriptTexts",
  "Secret",
  "SessionRequest",
  "SignedOutReason",
  "StoreEventMap",
  "SubmissionResult",
  "SubmitTokenControl",
  "SubmitTokenRefusal",
  "SubmitTokens",
  "SubmitTokensOptions",
  "TokenEndpointOptions",
  "UnprotectedEvent",
  "UserId",
  "UserIdOption",
];

test("the values exported are these and no others", () => {
  expect(Object.keys(api).sort()).toEqual(VALUES);
});

test("the types exported are these and no others", () => {
  expect(exportedTypes().sort()).toEqual(TYPES);
});

/** The names that src/index.ts exports as types only. Fails on any export that does not list its names. */
function exportedTypes(): string[] {
  const path = new URL("../../src/index.ts", import.meta.url);
  const source = ts.createSourceFile("index.ts", readFileSync(path, "utf8"), ts.ScriptTarget.Latest);
  return source.statements.flatMap((statement) => {
    if (!ts.isExportDeclaration(statement)) throw new Error("src/index.ts holds something else than re-exports");
    const clause = statement.exportClause;
    if (clause === undefined || !ts.isNamedExports(clause)) throw new Error("src/index.ts exports without names");
    const names = clause.elements.filter((element) => statement.isTypeOnly || element.isTypeOnly);
    return names.map((element) => element.name.text);
  });
}
