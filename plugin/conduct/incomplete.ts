/** Handles runs that ended early or never started: their errors, and the measurements that their results still lack. */
import { CapacityError, processStartError } from '../../protocol/codes/errors.ts';
import type { Conductor } from '../run/conductor.ts';
import type { RunContext } from '../run/context.ts';
import type { EarlyEnd } from '../run/measurements/measurements.ts';
import type { RunStage } from '../run/stage.ts';
import { resultWithin, retryUntilSuccess } from '../run/wait.ts';

const REPLY_TIMEOUT_MS = 5000;

/**
 * Message and fix for a run that ended early, by cause. Results that are saved during the run have the cause `killed`.
 */
const CAUSES = {
  stopped: ['stopped by the user', 'let it run to its end, or shorten its phases'],
  left: [
    'the virtual users left before the end of the measurement',
    'keep them connected until then: end the flow with `hold: true`',
  ],
  killed: [
    'the run was killed, or is still in progress',
    'wait for its end, or repeat it; `dmesg` shows whether the kernel killed it because memory ran out',
  ],
} as const;

export function earlyEnd(stage: RunStage, how: keyof typeof CAUSES): EarlyEnd {
  const [message, fix] = CAUSES[how];
  return { how, code: 'RUN_INCOMPLETE', message: `${message} (stage: ${stage})`, fix };
}

export function earlyEndByError(stage: RunStage | undefined, error: unknown): EarlyEnd {
  return {
    how: 'failed',
    code: 'RUN_INCOMPLETE',
    message: `${stage}: ${error instanceof Error ? error.message : String(error)}`,
    fix: error instanceof CapacityError ? error.fix : 'please report it with the folder of the run',
  };
}

/** Converts any error that occurred before the load to an error with a documented code. */
export function toCapacityError(error: unknown): CapacityError {
  const withKnownCode = error instanceof CapacityError ? error : processStartError(error);
  if (withKnownCode) return withKnownCode;
  const message = `the run could not start: ${error instanceof Error ? error.message : String(error)}`;
  return new CapacityError('UNEXPECTED', message, undefined, {
    cause: error instanceof Error ? error.cause : undefined,
  });
}

/** Collects the measurements that the result of a stopped run still lacks. */
export async function collectMissingMeasurements(
  conductor: Conductor,
  { measurements, control, link }: RunContext,
): Promise<void> {
  await retryUntilSuccess(() => conductor.stopped(), REPLY_TIMEOUT_MS);
  if (measurements.snapshots.length === 0)
    measurements.snapshots = (await resultWithin(link.snapshots(), REPLY_TIMEOUT_MS)) ?? [];
  if (measurements.eventLoops.length === 0)
    measurements.eventLoops = (await resultWithin(control.eventLoops(false), REPLY_TIMEOUT_MS)) ?? [];
}
