/**
 * The plugin that Artillery loads: in the main thread, where it controls the run, and once more in every worker thread,
 * where it only adjusts the script.
 */

import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { describeError } from '../../protocol/errors.ts';
import type { Script } from '../script/script.ts';
import { readWorkerSettings } from '../script/settings.ts';
import { type ArtilleryEvents, artillery, isArtilleryWorker } from './artillery.ts';
import { Run, type RunOptions } from './run.ts';
import { adjustWorkerScript } from './worker-script.ts';

export class Plugin {
  constructor(script: Script, events: ArtilleryEvents, options: RunOptions) {
    if (isArtilleryWorker()) {
      adjustWorkerScript(script, readWorkerSettings(script, process.env), artillery().testRunId);
      return;
    }
    // Inside the container of a distributed run, only the leader may measure the server.
    if (process.env.WORKER_ID !== undefined && process.env.IS_LEADER !== 'true') return;
    try {
      const run = new Run(script, events, options);
      artillery().ext({ ext: 'beforeExit', method: (event) => run.report(event.earlyStop === true) });
      artillery().ext({
        ext: 'onShutdown',
        method: async (event) => {
          run.setExitCode(event.earlyStop === true);
          await run.close();
        },
      });
    } catch (error) {
      // An exception would become an unhandled rejection, with Artillery's stack trace around it.
      console.error(`\n${describeError(error)}\n`);
      process.exit(EXIT_CODES.refused);
    }
  }
}
