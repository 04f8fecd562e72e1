/** Access to Artillery's globals. No other module of the engine touches them. */
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
  /** Reports an error. The run continues to its end, with exit code 1. */
  const fail = (error: CapacityError) => {
    // Written synchronously: a worker's console goes through the main thread, which may exit before it prints the text.
    writeSync(2, `${describeError(error)}\n`);
    handOverError(error);
    // Artillery passes this from a worker to the main thread.
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
      // An exception would end only this worker, for which Artillery would then wait forever. The signal makes the main thread shut
      // down properly.
      process.kill(process.pid, 'SIGTERM');
    },
  };
}
