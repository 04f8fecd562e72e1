/** The only place in the engine that touches Artillery's globals. */
import { writeSync } from 'node:fs';

interface ArtilleryGlobal {
  testRunId?: string;
  suggestedExitCode?: number;
}

export interface Runtime {
  testRunId: string;
  engineId: string;
  /** False in the main thread, where Artillery builds all engines once more for its `before` and `after` hooks. */
  isWorker: boolean;
  warn(message: string): void;
  /** Ends the whole run with this message and exit code 1. */
  abort(message: string): void;
}

export function artilleryRuntime(): Runtime {
  const artillery = (globalThis as { artillery?: ArtilleryGlobal }).artillery ?? {};
  const workerId = process.env.LOCAL_WORKER_ID;
  return {
    testRunId: artillery.testRunId ?? 'unknown',
    engineId: workerId ?? 'main',
    isWorker: workerId !== undefined,
    warn: (message) => console.error(message),
    abort: (message) => {
      // A worker's console reaches the terminal through the main thread, which can exit before it prints the message.
      writeSync(2, `${message}\n`);
      artillery.suggestedExitCode = 1;
      // An engine cannot end a run. An exception ends only this worker, and Artillery then waits for it for ever; the
      // signal makes the main thread shut down in an orderly way.
      process.kill(process.pid, 'SIGTERM');
    },
  };
}
