/** Counts of what the engine, not the fleet, decides on: virtual users, retries, failures. */

import { printable } from '../../protocol/base/printable.ts';
import { allSecretsIn } from '../../protocol/base/secrets/masked-values.ts';
import { addOwn, ownValue, setOwn } from '../../protocol/base/sum-counts.ts';
import { FleetError } from '../fleet/client/failure.ts';
import type { FlowError } from './flow-error.ts';
import { newHttpCounts } from './http-requests.ts';
import type { Meter } from './meter.ts';
import type { UserContext } from './user-types.ts';

/** Enough for a status line, two headers and the start of a body. */
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
    /** For first connections; the fleet counts reconnects. */
    retries: 0,
    /** Virtual users that failed, by error code: because a connection was lost, and otherwise. */
    losses: {} as Record<string, number>,
    failures: {} as Record<string, number>,
    /** Texts of the first failure of each code, and of the first repeated attempt. */
    examples: {} as Record<string, string>,
    /** Virtual users of other engines; failures by error. */
    otherUsers: { started: 0, ended: 0, failures: {} as Record<string, number> },
    http: newHttpCounts(),
    /** Events that `on` handed to functions, its failed calls by function, and counters of all functions. */
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
 * Skips an error whose message only repeats its code.
 * @param context of the virtual user, whose variables the example does not show
 */
export function keepExample({ examples }: Tally, { code, message, cause }: FlowError, context?: UserContext): void {
  if (ownValue(examples, code) !== undefined || message === code || message === '') return;
  const data = cause instanceof FleetError && cause.data !== undefined ? ` ${JSON.stringify(cause.data)}` : '';
  setOwn(examples, code, printable(message + data, MAX_EXAMPLE_LENGTH, context && secretsOf(context)));
}

/** Values of payload rows, captures and processor functions. Names with `$` are Artillery's own. */
export function secretsOf({ vars, extraHeaders = {} }: UserContext): string[] {
  const variables = Object.fromEntries(
    Object.entries(vars).filter(([name]) => !name.startsWith('$') && name !== 'target'),
  );
  return allSecretsIn({ variables, extraHeaders });
}
