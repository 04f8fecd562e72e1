/** Counts of what the engine, not the fleet, decides on: virtual users, retries, failures. */
import { addOwn, ownValue, setOwn } from '../../protocol/helpers/sum-counts.ts';
import { printable } from '../../protocol/printable.ts';
import { FleetError } from '../fleet/fleet-error.ts';
import type { FlowError } from './flow-error.ts';
import type { Meter } from './meter.ts';

/** Enough for a status line, two headers and the start of a body. */
const MAX_EXAMPLE_LENGTH = 300;

export type Tally = ReturnType<typeof newTally>;

export function newTally() {
  return {
    started: 0,
    ended: 0,
    holding: 0,
    failed: 0,
    /** Virtual users that ended without a failure. */
    succeeded: 0,
    /** For first connections; the fleet counts those of connections that come back. */
    retries: 0,
    /** Virtual users that failed, by error code. */
    failures: {} as Record<string, number>,
    /** What was said at the first failure of each code, and at the first attempt that was repeated. */
    examples: {} as Record<string, string>,
  };
}

export function countFailure({ tally, meter }: { tally: Tally; meter: Pick<Meter, 'error'> }, error: FlowError): void {
  tally.failed++;
  meter.error(error.code);
  addOwn(tally.failures, error.code, 1);
  keepExample(tally, error);
}

/** Not if the error says no more than its code. */
export function keepExample({ examples }: Tally, { code, message, cause }: FlowError): void {
  if (ownValue(examples, code) !== undefined || message === code || message === '') return;
  const data = cause instanceof FleetError && cause.data !== undefined ? ` ${JSON.stringify(cause.data)}` : '';
  setOwn(examples, code, printable(message + data, MAX_EXAMPLE_LENGTH));
}
