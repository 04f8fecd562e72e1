/** Counts of virtual users, retries and failures in the engine. Connections are counted in the fleet. */

import { printableLine } from '../../protocol/base/printable.ts';
import { collectConnectionSecrets } from '../../protocol/base/secrets/masked-values.ts';
import { addToOwnCounter, ownProperty, setOwnProperty } from '../../protocol/base/sum-counts.ts';
import { FleetError } from '../fleet/client/failure.ts';
import type { FlowError } from './flow-error.ts';
import { newHttpCounts } from './http-requests.ts';
import type { Meter } from './meter.ts';
import type { UserContext } from './user-types.ts';

/**
 * Largest length of the text that is kept as an example of a failure: enough for a status line, two headers and the
 * start of a body.
 */
const MAX_EXAMPLE_LENGTH = 300;

export type UserTally = ReturnType<typeof newUserTally>;
export type OtherUsers = UserTally['otherUsers'];

export function newUserTally() {
  return {
    started: 0,
    ended: 0,
    holding: 0,
    failed: 0,
    /** Number of virtual users that ended without a failure. */
    succeeded: 0,
    /** Number of retries before a connection first opened. Reconnects are counted in the fleet. */
    retries: 0,
    /**
     * Number of failed virtual users by error code: `losses` for a lost connection, `failures` for any other failure.
     */
    losses: {} as Record<string, number>,
    failures: {} as Record<string, number>,
    /** Text of the first failure with each error code. Includes failures that were retried. */
    examples: {} as Record<string, string>,
    /** Number of virtual users that ran on other engines, and the number of their failures by error. */
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
  { tally, meter }: { tally: UserTally; meter: Pick<Meter, 'error'> },
  error: FlowError,
  kind: 'losses' | 'failures',
  context?: UserContext,
): void {
  tally.failed++;
  meter.error(error.code);
  addToOwnCounter(tally[kind], error.code, 1);
  keepErrorExample(tally, error, context);
}

/**
 * Keeps the error's message as an example of its code, unless the message only repeats the code.
 * @param context context of the virtual user; values of its variables are masked
 */
export function keepErrorExample(
  { examples }: UserTally,
  { code, message, cause }: FlowError,
  context?: UserContext,
): void {
  if (ownProperty(examples, code) !== undefined || message === code || message === '') return;
  const data = cause instanceof FleetError && cause.data !== undefined ? ` ${JSON.stringify(cause.data)}` : '';
  setOwnProperty(examples, code, printableLine(message + data, MAX_EXAMPLE_LENGTH, context && secretsOfUser(context)));
}

/**
 * Returns the values of a virtual user's variables: payload rows, captures, and values set by functions. Variables of
 * Artillery, whose names begin with `$`, are left out.
 */
export function secretsOfUser({ vars, extraHeaders = {} }: UserContext): string[] {
  const variables = Object.fromEntries(
    Object.entries(vars).filter(([name]) => !name.startsWith('$') && name !== 'target'),
  );
  return collectConnectionSecrets({ variables, extraHeaders });
}
