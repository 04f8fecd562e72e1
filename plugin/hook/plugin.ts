/** The Artillery plugin. In the main thread, it controls the run. In a worker thread, it only changes the script. */
import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { reportFatalError } from '../../protocol/base/fatal-error.ts';
import { ownRelease, releaseOf } from '../../protocol/base/release.ts';
import { VERSION } from '../../protocol/base/version.ts';
import { CapacityError, describeError } from '../../protocol/codes/errors.ts';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { openThreadCarrier } from '../../protocol/link/carrier.ts';
import type { RunMessage } from '../../protocol/link/link-messages.ts';
import { ENGINE_PACKAGE, handedOverSettings, PLUGIN_PACKAGE, versionsDifferError } from '../script/handed-over.ts';
import { InvalidSettings } from '../script/invalid-settings.ts';
import { readHostVariables } from '../script/load/shares.ts';
import { unfilledOptions } from '../script/options/check-config.ts';
import { ENGINE_NAME, type Script } from '../script/script.ts';
import { artilleryFolder } from '../virtual-user/artillery-types.ts';
import { type ArtilleryEvents, artilleryGlobal, isArtilleryWorker, remotePlatform } from './artillery-hooks.ts';
import { HookRun, type HookRunOptions } from './hook-run.ts';
import { HostRun } from './host-run.ts';

export class Plugin {
  constructor(script: Script, events: ArtilleryEvents, options: HookRunOptions) {
    if (isArtilleryWorker()) {
      try {
        adjustWorkerScript(script, artilleryGlobal().testRunId);
      } catch (error) {
        // Artillery prints the stack of an error in a worker, so the stack is replaced by the message.
        throw Object.assign(new Error(), { stack: describeError(error) });
      }
      return;
    }
    const platform = remotePlatform();
    if (platform) {
      artilleryGlobal().log(`The load runs on ${platform}. Its conductor measures, and has the result.`);
      return;
    }
    try {
      requireSameEngine();
      const host = readHostVariables(process.env);
      if (!host && isFollower(process.env)) throw noConductor();
      const run = host ? new HostRun(script, events, host) : new HookRun(script, events, options);
      artilleryGlobal().ext({ ext: 'beforeExit', method: (event) => run.report(event.earlyStop === true) });
      artilleryGlobal().ext({
        ext: 'onShutdown',
        method: async (event) => {
          run.setExitCode(event);
          await run.close();
        },
      });
    } catch (error) {
      // An exception would be reported as an unhandled rejection, with Artillery's stack trace.
      reportFatalError(error);
      process.exit(EXIT_CODES.refused);
    }
  }
}

/**
 * Returns whether this process runs in a container of `run-fargate`, `run-aci` or `run-lambda` other than the first.
 * Only the first container can make a complete run.
 */
function isFollower({ WORKER_ID, IS_LEADER }: NodeJS.ProcessEnv): boolean {
  return WORKER_ID !== undefined && IS_LEADER !== 'true';
}

function noConductor(): CapacityError {
  return new CapacityError(
    'CONFIG_INVALID',
    'environment variable CAPACITY_CONDUCTOR is not set in this container, which would generate the whole load once more',
    'start `npx socketio-capacity conduct`, and pass CAPACITY_CONDUCTOR, as it prints it, and CAPACITY_HOSTS to the containers with --dotenv',
  );
}

/** Path of Artillery's module that loads engines. */
const LOADER = 'dist/lib/core/runner.js';

/**
 * Checks that Artillery finds an engine package of the same build as this plugin.
 * @throws CapacityError NOT_INSTALLED, VERSIONS_DIFFER
 */
export function requireSameEngine(artillery = artilleryFolder()): void {
  const { resolve } = createRequire(join(artillery, LOADER));
  let manifest: string;
  try {
    manifest = realpathSync(resolve(`${ENGINE_PACKAGE}/package.json`));
  } catch (cause) {
    const message = `Artillery in ${artillery} cannot find ${ENGINE_PACKAGE}`;
    const fix = `install it beside artillery, from the release of the plugin (${VERSION})`;
    throw new CapacityError('NOT_INSTALLED', message, fix, { cause });
  }
  const folder = dirname(manifest);
  // This code must choose the folder in the same way as the engine's index.js.
  const root = join(folder, folder.includes('/node_modules/') ? 'dist' : '../..');
  const { version } = createRequire(manifest)(manifest);
  const release = releaseOf(root, version);
  if (release === ownRelease()) return;
  throw versionsDifferError(`the engine in ${folder}`, release, PLUGIN_PACKAGE);
}

const HOLD_FUNCTION = '__socketioCapacityHold';

/** Changes the script in a worker thread, before Artillery creates the engines. */
export function adjustWorkerScript(script: Script, testRunId: string): void {
  const { target, tls, engine, external } = handedOverSettings();
  const { config } = script;
  // Empty templates are found in the worker: in the main thread, options whose template is empty are already missing.
  const unfilled = unfilledOptions(config.engines?.[ENGINE_NAME] ?? {}, ['config', 'engines', ENGINE_NAME]);
  if (unfilled.length > 0) throw new InvalidSettings(unfilled);
  config.target = target;
  if (tls) config.tls = { ...(config.tls as object | undefined), rejectUnauthorized: false };
  // This engine is added even if a third-party engine drives the load. It delays the arrivals until the memory without
  // connections (the baseline) has been read.
  config.engines = { [ENGINE_NAME]: {}, ...config.engines };
  if (external) runOnExternalEngine(script, engine, testRunId);
}

/**
 * Replaces the step `hold` by a function, for a third-party engine. The function returns when the run releases the
 * connections.
 */
function runOnExternalEngine(script: Script, engine: string, testRunId: string): void {
  const { config } = script;
  // Artillery loads all engines that are keys of this object.
  config.engines = { [engine]: {}, ...config.engines };
  const released = untilReleased(testRunId);
  // Every engine waits until the function of a step calls back, so this function holds the virtual user.
  const hold = (_context: unknown, _events: unknown, next: () => void) => void released.then(next);
  config.processor = { ...(config.processor as object | undefined), [HOLD_FUNCTION]: hold };
  for (const scenario of script.scenarios ?? []) {
    scenario.flow = scenario.flow?.map((step) => (isHold(step) ? { function: HOLD_FUNCTION } : step));
  }
}

function isHold(step: unknown): boolean {
  return typeof step === 'object' && step !== null && 'hold' in step;
}

function untilReleased(testRunId: string): Promise<void> {
  const carrier = openThreadCarrier<never, RunMessage>(testRunId);
  return new Promise((resolve) => {
    carrier.onMessage = ({ type }) => {
      if (type !== 'release' && type !== 'finish' && type !== 'close') return;
      carrier.close();
      resolve();
    };
  });
}
