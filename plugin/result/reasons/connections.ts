/** What became of the connections: every one that was asked for is either alive, or failed, or lost, and known to be. */
import type { Result } from '../../../protocol/result.ts';
import type { Reason } from '../../../protocol/verdict-reasons.ts';
import type { Measurements } from '../../run/measurements.ts';
import { sum } from '../sums.ts';

type Measured = Omit<Result, 'verdict'>;

/** Failures that are the end of a connection which had been open. */
const LOST = 'disconnected_';

export function* connectionProblems(measurements: Measurements, { connections }: Measured): Generator<Reason> {
  const { peak, target, failures, lost } = connections;
  if (!measurements.aborted && peak === 0) {
    yield { code: 'NO_CONNECTIONS', message: 'no connection was made', fix: 'see connections.failures' };
  }
  const failed = Object.fromEntries(Object.entries(failures).filter(([cause]) => !cause.startsWith(LOST)));
  if (sum(Object.values(failed)) > 0) {
    yield {
      code: 'CONNECTIONS_FAILED',
      message: `${sum(Object.values(failed))} of ${target} connections failed: ${listed(failed)}`,
    };
  }
  if (sum(Object.values(lost)) > 0) yield lostConnections(connections);
  yield* missing(measurements, connections);
  yield* accounts(measurements);
}

function lostConnections({ opened, held, lost }: Measured['connections']): Reason {
  const left = held === null ? '' : `; ${held} were alive at the end of the broadcasts`;
  return {
    code: 'CONNECTIONS_LOST',
    message: `${sum(Object.values(lost))} of ${opened} opened connections were lost: ${listed(lost)}${left}`,
    fix: 'see the logs of the workers and of the proxy at that time, which the stages and samples show',
  };
}

/** Where every virtual user is to stay, all that the scenario asks for must have been there together. */
function* missing(
  { expectedAtOnce, aborted }: Measurements,
  { peak, failed }: Measured['connections'],
): Generator<Reason> {
  if (aborted || expectedAtOnce === null || peak === 0 || peak >= expectedAtOnce) return;
  yield {
    code: 'TARGET_NOT_REACHED',
    message: `at most ${peak} of ${expectedAtOnce} connections were open at the same time; ${failed} failed or were lost`,
    fix: 'see connections.failures; a flow must keep its connection open: end it with `hold: true`',
  };
}

/** The engines' accounts against what the fleet's processes count themselves. */
function* accounts({ snapshots }: Measurements): Generator<Reason> {
  for (const { accounts: account, connected, processes, from } of snapshots) {
    const sure = processes.every(({ answers }) => answers);
    if (!sure || account.alive === connected) continue;
    yield {
      code: 'ACCOUNTS_MISMATCH',
      message: `engine ${from.engine} counts ${account.alive} living connections, but its fleet counts ${connected}`,
      fix: 'a bug: please report it with the folder of the run',
    };
  }
}

function listed(counts: Record<string, number>): string {
  return Object.entries(counts)
    .toSorted(([, a], [, b]) => b - a)
    .map(([cause, count]) => `${cause} ${count}`)
    .join(', ');
}
