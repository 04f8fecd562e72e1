/** Runs flows that were written for our own engine on a third-party engine for Artillery. */
import { openThreadCarrier } from '../../protocol/link/carrier.ts';
import type { RunMessage } from '../../protocol/link/messages.ts';
import type { Script } from '../script/script.ts';

/** Artillery includes this engine; it loads others if `config.engines` names them. */
const BUILT_IN = 'socketio';
const HOLD_FUNCTION = '__socketioCapacityHold';

type Next = () => void;

/** Changes a worker's script: its scenarios run on `engine`, and hold their connections until the run releases them. */
export function runOnExternalEngine(script: Script, engine: string, testRunId: string): void {
  const { config } = script;
  if (engine !== BUILT_IN) config.engines = { ...config.engines, [engine]: {} };
  const released = releaseOf(testRunId);
  // Only our engine has the step `hold`; a function that calls back late has the same effect on all engines.
  const hold = (_context: unknown, _events: unknown, next: Next) => void released.then(next);
  config.processor = { ...(config.processor as object | undefined), [HOLD_FUNCTION]: hold };
  for (const scenario of script.scenarios ?? []) {
    scenario.engine = engine;
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
