/** What the plugin changes in a worker's own script, before Artillery builds the engines from it. */
import { openThreadCarrier } from '../../protocol/link/carrier.ts';
import type { RunMessage } from '../../protocol/link/messages.ts';
import { handedOver } from '../script/handed-over.ts';
import { invalidSettings } from '../script/invalid-settings.ts';
import { unfilledIn } from '../script/options/check-config.ts';
import { ENGINE, type Script } from '../script/script.ts';

const HOLD_FUNCTION = '__socketioCapacityHold';

export function adjustWorkerScript(script: Script, testRunId: string): void {
  const { target, tls, engine, external } = handedOver();
  const { config } = script;
  // The main thread has a copy by way of JSON, in which what a template left empty is missing.
  const unfilled = unfilledIn(config.engines?.[ENGINE] ?? {}, ['config', 'engines', ENGINE]);
  if (unfilled.length > 0) throw invalidSettings(unfilled);
  config.target = target;
  if (tls) config.tls = { ...(config.tls as object | undefined), rejectUnauthorized: false };
  // Even if a third-party engine drives the load, ours delays the arrivals until the baseline has been read.
  config.engines = { [ENGINE]: {}, ...config.engines };
  if (external) runOnExternalEngine(script, engine, testRunId);
}

/** Gives the step `hold` to another Socket.IO engine: connections stay until the run releases them. */
function runOnExternalEngine(script: Script, engine: string, testRunId: string): void {
  const { config } = script;
  // Artillery loads engines that are named there.
  config.engines = { [engine]: {}, ...config.engines };
  const released = releaseOf(testRunId);
  // A function that calls back late has the same effect on all engines.
  const hold = (_context: unknown, _events: unknown, next: () => void) => void released.then(next);
  config.processor = { ...(config.processor as object | undefined), [HOLD_FUNCTION]: hold };
  for (const scenario of script.scenarios ?? []) {
    scenario.flow = scenario.flow?.map((step) => (isHold(step) ? { function: HOLD_FUNCTION } : step));
  }
}

function isHold(step: unknown): boolean {
  return typeof step === 'object' && step !== null && 'hold' in step;
}

function releaseOf(testRunId: string): Promise<void> {
  const carrier = openThreadCarrier<never, RunMessage>(testRunId);
  return new Promise((resolve) => {
    carrier.onMessage = ({ type }) => {
      if (type !== 'release' && type !== 'finish' && type !== 'close') return;
      carrier.close();
      resolve();
    };
  });
}
