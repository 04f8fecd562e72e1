/** Counts of the engine rather than of the fleet: virtual users, retries, failures. */

import { printable } from '../../protocol/base/printable.ts';
import { allSecretsIn } from '../../protocol/base/secrets/masked-values.ts';
import { addOwn, ownValue, setOwn } from '../../protocol/base/sum-counts.ts';
import { FleetError } from '../fleet/client/failure.ts';
import type { FlowError } from './flow-error.ts';
import { newHttpCounts } from './http-requests.ts';
import type { Meter } from './meter.ts';
import type { UserContext } from './user-types.ts';

/** Longest example of a failure: enough for a status line, two headers and the start of a body. */
const MAX_EXAMPLE_LENGTH = 300;

export type Tally = ReturnType<typeof newTally>;
export type OtherUsers = Tally['otherUsers'];

export function newTally() {
  return {
    started: 0,
    ended: 0,
    holding: 0,
    failed: 0,
    /** Virtual users that ended without a failure. */
    succeeded: 0,
    /** Retries of first connects; the fleet counts reconnects. */
    retries: 0,
    /** Failed virtual users by error code: `losses` lost a connection, `failures` failed otherwise. */
    losses: {} as Record<string, number>,
    failures: {} as Record<string, number>,
    /** Text of the first failure of each code, and of the first retry. */
    examples: {} as Record<string, string>,
    /** Virtual users of third-party engines, and their failures by error. */
    otherUsers: { started: 0, ended: 0, failures: {} as Record<string, number> },
    http: newHttpCounts(),
    /** Events that `on` passed to functions, its failed calls by function, and counters of all functions. */
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
 * Keeps an example of the error, unless its message only repeats its code.
 * @param context context of the virtual user, whose variables are masked in the example
 */
export function keepExample({ examples }: Tally, { code, message, cause }: FlowError, context?: UserContext): void {
  if (ownValue(examples, code) !== undefined || message === code || message === '') return;
  const data = cause instanceof FleetError && cause.data !== undefined ? ` ${JSON.stringify(cause.data)}` : '';
  setOwn(examples, code, printable(message + data, MAX_EXAMPLE_LENGTH, context && secretsOf(context)));
}

/** Returns values of payload rows, captures and processor functions. Names with `$` are Artillery's own. */
export function secretsOf({ vars, extraHeaders = {} }: UserContext): string[] {
  const variables = Object.fromEntries(
    Object.entries(vars).filter(([name]) => !name.startsWith('$') && name !== 'target'),
  );
  return allSecretsIn({ variables, extraHeaders });
}
