/** Access to Artillery's global objects. Other modules of the engine do not use them. */
import { writeSync } from 'node:fs';
import { passErrorToParent } from '../../protocol/base/fatal-error.ts';
import { escapeEachLine } from '../../protocol/base/printable.ts';
import { type CapacityError, describeError } from '../../protocol/codes/errors.ts';

interface ArtilleryGlobal {
  testRunId?: string;
  suggestedExitCode?: number;
}

export type ArtilleryRuntime = ReturnType<typeof artilleryRuntime>;

export function artilleryRuntime() {
  const artillery = (globalThis as { artillery?: ArtilleryGlobal }).artillery ?? {};
  const workerId = process.env.LOCAL_WORKER_ID;
  /** Reports an error. The run continues, but ends with exit code 1. */
  const fail = (error: CapacityError) => {
    // The text is written synchronously. A worker's console prints through the main thread, which may exit before.
    writeSync(2, `${describeError(error)}\n`);
    passErrorToParent(error);
    // Artillery passes the exit code from a worker to the main thread.
    artillery.suggestedExitCode = 1;
  };
  return {
    testRunId: artillery.testRunId ?? 'unknown',
    engineId: workerId ?? 'main',
    /** False in the main thread, where Artillery creates all engines again for the hooks `before` and `after`. */
    isWorker: workerId !== undefined,
    warn: (message: string): void => console.error(escapeEachLine(message)),
    fail,
    /** Ends the run with this error and exit code 1. */
    abort: (error: CapacityError) => {
      fail(error);
      // An exception would end only this worker, and Artillery would wait for it. The signal ends the run.
      process.kill(process.pid, 'SIGTERM');
    },
  };
}
