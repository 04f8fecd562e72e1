/**
 * Runs test files as `node --test` does, and some of those that fail a second time (`helpers/attempts.ts`).
 *
 *     node test/run.ts CONCURRENCY PATTERN…
 *
 * Files begin in the order of the patterns: those that take longest are named first, so that none runs alone at the end.
 */
import { join } from 'node:path';
import { runTests } from './helpers/attempts.ts';
import { OtherWork } from './helpers/other-work.ts';

const [concurrency = '1', ...patterns] = process.argv.slice(2);
// What all these processes compile is mostly the same.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '../node_modules/.cache/test');
const others = new OtherWork(process.pid);
await others.start();
await runTests(patterns, Number(concurrency), others);
others.stop();
