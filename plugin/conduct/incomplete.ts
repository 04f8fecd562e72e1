/** A run that has no end, or no begin: why, as its result or its error says it, and what can still be asked for. */
import { CapacityError, startRefused } from '../../protocol/codes/errors.ts';
import type { Conductor } from '../run/conductor.ts';
import type { RunContext } from '../run/context.ts';
import type { EarlyEnd } from '../run/measurements/measurements.ts';
import type { Stage } from '../run/stage.ts';
import { succeed, within } from '../run/wait.ts';

const ANSWER_TIMEOUT_MS = 5000;

/** What ended a run, and how it comes to its end. A result that is written while the run goes on says `killed`. */
const ENDED = {
  stopped: ['stopped by the user', 'let it run to its end, or shorten its phases'],
  left: [
    'the virtual users left before the end of the measurement',
    'keep them connected until then: end the flow with `hold: true`',
  ],
  killed: [
    'the run was killed, or is still in progress',
    'wait for its end, or repeat it; `dmesg` shows whether the kernel killed it for its memory',
  ],
} as const;

export function endedIn(stage: Stage, how: keyof typeof ENDED): EarlyEnd {
  const [what, fix] = ENDED[how];
  return { how, code: 'RUN_INCOMPLETE', message: `${what} (stage: ${stage})`, fix };
}

export function failedIn(stage: Stage | undefined, error: unknown): EarlyEnd {
  return {
    how: 'failed',
    code: 'RUN_INCOMPLETE',
    message: `${stage}: ${error instanceof Error ? error.message : String(error)}`,
    fix: error instanceof CapacityError ? error.fix : 'please report it with the folder of the run',
  };
}

/** Whatever ends a run before its load has a code to look up. */
export function withCode(error: unknown): CapacityError {
  const known = error instanceof CapacityError ? error : startRefused(error);
  if (known) return known;
  const message = `the run could not begin: ${error instanceof Error ? error.message : String(error)}`;
  return new CapacityError('UNEXPECTED', message, undefined, {
    cause: error instanceof Error ? error.cause : undefined,
  });
}

/** When a run has been stopped: what its result lacks. */
export async function askForTheRest(conductor: Conductor, { measurements, control, link }: RunContext): Promise<void> {
  await succeed(() => conductor.stopped(), ANSWER_TIMEOUT_MS);
  if (measurements.snapshots.length === 0)
    measurements.snapshots = (await within(link.snapshots(), ANSWER_TIMEOUT_MS)) ?? [];
  if (measurements.eventLoops.length === 0)
    measurements.eventLoops = (await within(control.eventLoops(false), ANSWER_TIMEOUT_MS)) ?? [];
}
