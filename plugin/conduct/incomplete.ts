/** Why a run has no end, or no begin, as its result or its error says it. */
import type { Reason } from '../../protocol/codes/verdict-reasons.ts';
import { CapacityError, startRefused } from '../../protocol/errors.ts';
import type { Stage } from '../run/stage.ts';

export function stoppedIn(stage: Stage): Reason {
  return {
    code: 'RUN_INCOMPLETE',
    message: `stopped by the user (stage: ${stage})`,
    fix: 'let it run to its end, or shorten its phases',
  };
}

export function usersLeftIn(stage: Stage): Reason {
  return {
    code: 'RUN_INCOMPLETE',
    message: `the virtual users left before the end of the measurement (stage: ${stage})`,
    fix: 'keep them connected until then: end the flow with `hold: true`',
  };
}

/** Of a result that is written while the run goes on. */
export function killedIn(stage: Stage): Reason {
  return {
    code: 'RUN_INCOMPLETE',
    message: `the run was killed, or is still in progress (stage: ${stage})`,
    fix: 'wait for its end, or repeat it; `dmesg` shows whether the kernel killed it for its memory',
  };
}

export function failedIn(stage: Stage | undefined, error: unknown): Reason {
  return {
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
