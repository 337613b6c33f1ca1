import fc from "fast-check";
import { Redis } from "ioredis";
import { inject } from "vitest";

/** Before each test file: one server serves thousands of mutants, and each test takes databases of its own on it. */
const client = new Redis(inject("redisPort"), "127.0.0.1");
await client.flushall();
client.disconnect();

/** A mutant is found out by every run or by none. */
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 20_261_201 });
