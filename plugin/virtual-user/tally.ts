/** Counts of virtual users, retries and failures in the engine. Connections are counted in the fleet. */

import { printable } from '../../protocol/base/printable.ts';
import { allSecretsIn } from '../../protocol/base/secrets/masked-values.ts';
import { addOwn, ownValue, setOwn } from '../../protocol/base/sum-counts.ts';
import { FleetError } from '../fleet/client/failure.ts';
import type { FlowError } from './flow-error.ts';
import { newHttpCounts } from './http-requests.ts';
import type { Meter } from './meter.ts';
import type { UserContext } from './user-types.ts';

/** Largest length of a failure's example: enough for a status line, two headers and the start of a body. */
const MAX_EXAMPLE_LENGTH = 300;

export type Tally = ReturnType<typeof newTally>;
export type OtherUsers = Tally['otherUsers'];

export function newTally() {
  return {
    started: 0,
    ended: 0,
    holding: 0,
    failed: 0,
    /** Number of virtual users that ended without a failure. */
    succeeded: 0,
    /** Number of retries before a connection first opened. Reconnects are counted in the fleet. */
    retries: 0,
    /** Number of failed virtual users by error code: `losses` if a connection was lost, `failures` otherwise. */
    losses: {} as Record<string, number>,
    failures: {} as Record<string, number>,
    /** Text of the first failure of each code, also of failures that were retried. */
    examples: {} as Record<string, string>,
    /** Number of virtual users of other engines, and their failures by error. */
    otherUsers: { started: 0, ended: 0, failures: {} as Record<string, number> },
    http: newHttpCounts(),
    /**
     * Calls of the user's functions: events passed by `on`, failed calls by function, and counters that functions have
     * emitted.
     */
    functions: {
      received: 0,
      dropped: 0,
      failures: {} as Record<string, number>,
      counters: {} as Record<string, number>,
    },
  };
}

export function countFailure(
  { tally, meter }: { tally: Tally; meter: Pick<Meter, 'error'> },
  error: FlowError,
  kind: 'losses' | 'failures',
  context?: UserContext,
): void {
  tally.failed++;
  meter.error(error.code);
  addOwn(tally[kind], error.code, 1);
  keepExample(tally, error, context);
}

/**
 * Keeps the error as an example of its code, unless its message only repeats the code.
 * @param context context of the virtual user; values of its variables are masked
 */
export function keepExample({ examples }: Tally, { code, message, cause }: FlowError, context?: UserContext): void {
  if (ownValue(examples, code) !== undefined || message === code || message === '') return;
  const data = cause instanceof FleetError && cause.data !== undefined ? ` ${JSON.stringify(cause.data)}` : '';
  setOwn(examples, code, printable(message + data, MAX_EXAMPLE_LENGTH, context && secretsOf(context)));
}

/**
 * Returns the values of a virtual user's variables: payload rows, captures, and values set by functions. Variables of
 * Artillery, whose names begin with `$`, are left out.
 */
export function secretsOf({ vars, extraHeaders = {} }: UserContext): string[] {
  const variables = Object.fromEntries(
    Object.entries(vars).filter(([name]) => !name.startsWith('$') && name !== 'target'),
  );
  return allSecretsIn({ variables, extraHeaders });
}
