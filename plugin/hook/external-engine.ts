/** Flows of our own engine on another one of Artillery's. */
import { openThreadCarrier } from '../../protocol/carrier.ts';
import type { RunMessage } from '../../protocol/link.ts';
import type { Script } from '../script/script.ts';

/** Artillery has this one built in; the others it loads when `config.engines` names them. */
const BUILT_IN = 'socketio';
const HOLD_FUNCTION = '__socketioCapacityHold';

type Next = () => void;

/** Changes a worker's script: its scenarios run on `engine`, and hold their connections until the run releases them. */
export function runOnExternalEngine(script: Script, engine: string, testRunId: string): void {
  const { config } = script;
  if (engine !== BUILT_IN) config.engines = { ...config.engines, [engine]: {} };
  const released = releaseOf(testRunId);
  // `hold` is a step of our engine only; a function that calls back late does the same on all of them.
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
