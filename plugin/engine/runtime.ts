/** The only place in the engine that touches Artillery's globals. */
import { writeSync } from 'node:fs';
import { handOverError } from '../../protocol/base/ended-by.ts';
import { harmless } from '../../protocol/base/printable.ts';
import { type CapacityError, describeError } from '../../protocol/codes/errors.ts';

interface ArtilleryGlobal {
  testRunId?: string;
  suggestedExitCode?: number;
}

export type Runtime = ReturnType<typeof artilleryRuntime>;

export function artilleryRuntime() {
  const artillery = (globalThis as { artillery?: ArtilleryGlobal }).artillery ?? {};
  const workerId = process.env.LOCAL_WORKER_ID;
  /** Lets the run go on to its end, which has exit code 1. */
  const fail = (error: CapacityError) => {
    // A worker's console reaches the terminal through the main thread, which may be gone before it gets to it.
    writeSync(2, `${describeError(error)}\n`);
    handOverError(error);
    // Artillery passes it on from a worker to the main thread.
    artillery.suggestedExitCode = 1;
  };
  return {
    testRunId: artillery.testRunId ?? 'unknown',
    engineId: workerId ?? 'main',
    /** False in the main thread, where Artillery builds all engines once more for its `before` and `after` hooks. */
    isWorker: workerId !== undefined,
    warn: (message: string): void => console.error(harmless(message)),
    fail,
    /** Ends the whole run with this error and exit code 1. */
    abort: (error: CapacityError) => {
      fail(error);
      // An engine cannot end a run. An exception ends only this worker, and Artillery then waits for it for ever; the
      // signal makes the main thread shut down in an orderly way.
      process.kill(process.pid, 'SIGTERM');
    },
  };
}
