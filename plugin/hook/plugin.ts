/**
 * The plugin that Artillery loads: in the main thread, where it controls the run, and once more in every worker thread,
 * where it only adjusts the script.
 */
import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { CapacityError, describeError } from '../../protocol/errors.ts';
import { ownRelease, releaseOf } from '../../protocol/release.ts';
import { VERSION } from '../../protocol/version.ts';
import { ENGINE_PACKAGE, PLUGIN_PACKAGE, versionsDiffer } from '../script/handed-over.ts';
import { readHost } from '../script/load/shares.ts';
import type { Script } from '../script/script.ts';
import { artilleryFolder } from '../virtual-user/artillery.ts';
import { type ArtilleryEvents, artillery, isArtilleryWorker, remotePlatform } from './artillery.ts';
import { HostRun } from './host-run.ts';
import { Run, type RunOptions } from './run.ts';
import { adjustWorkerScript } from './worker-script.ts';

export class Plugin {
  constructor(script: Script, events: ArtilleryEvents, options: RunOptions) {
    if (isArtilleryWorker()) {
      try {
        adjustWorkerScript(script, artillery().testRunId);
      } catch (error) {
        // Artillery prints what a worker throws with its stack.
        throw Object.assign(new Error(), { stack: describeError(error) });
      }
      return;
    }
    const platform = remotePlatform();
    if (platform) {
      artillery().log(`The load runs on ${platform}. Its conductor measures, and has the result.`);
      return;
    }
    try {
      requireSameEngine();
      const host = readHost(process.env);
      if (!host && isFollower(process.env)) throw nobodyConducts();
      const run = host ? new HostRun(script, events, host) : new Run(script, events, options);
      artillery().ext({ ext: 'beforeExit', method: (event) => run.report(event.earlyStop === true) });
      artillery().ext({
        ext: 'onShutdown',
        method: async (event) => {
          run.setExitCode(event);
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

/** In a container of `run-fargate`, `run-aci` or `run-lambda`, of which the first one can still be a run of its own. */
function isFollower({ WORKER_ID, IS_LEADER }: NodeJS.ProcessEnv): boolean {
  return WORKER_ID !== undefined && IS_LEADER !== 'true';
}

function nobodyConducts(): CapacityError {
  return new CapacityError(
    'CONFIG_INVALID',
    'environment variable CAPACITY_CONDUCTOR is not set in this container, which would bring the whole load once more',
    'start `npx socketio-capacity conduct`, and give the containers its line and CAPACITY_HOSTS by --dotenv',
  );
}

/** Where Artillery looks for engines from. */
const LOADER = 'dist/lib/core/runner.js';

/**
 * The engine is a package of its own, which Artillery finds by itself: it has to be of the plugin's build.
 * @throws CapacityError NOT_INSTALLED, VERSIONS_DIFFER
 */
export function requireSameEngine(artillery = artilleryFolder()): void {
  const { resolve } = createRequire(join(artillery, LOADER));
  let manifest: string;
  try {
    manifest = realpathSync(resolve(`${ENGINE_PACKAGE}/package.json`));
  } catch (cause) {
    const message = `Artillery in ${artillery} finds no ${ENGINE_PACKAGE}`;
    const fix = `install it beside artillery, from the release of the plugin (${VERSION})`;
    throw new CapacityError('NOT_INSTALLED', message, fix, { cause });
  }
  const folder = dirname(manifest);
  // As its index.js decides it.
  const root = join(folder, folder.includes('/node_modules/') ? 'dist' : '../..');
  const { version } = createRequire(manifest)(manifest);
  const release = releaseOf(root, version);
  if (release === ownRelease()) return;
  throw versionsDiffer(`the engine in ${folder}`, release, PLUGIN_PACKAGE);
}
