/** Runs that need no Artillery, side by side: settings, engine, fleet and result are real, and they mostly wait. */
import { describe, it } from 'node:test';
import { connection } from './runs/connection.ts';
import { plain } from './runs/plain.ts';
import { worker } from './runs/worker.ts';

const TOGETHER = 4;

describe('a run', { concurrency: TOGETHER }, () => {
  for (const [name, test] of Object.entries({ ...connection, ...plain, ...worker })) it(name, test);
});
