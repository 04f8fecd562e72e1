/** The workers are those that the run began with, and all of them are known. */
import { sumCounts } from '../../../protocol/helpers/sum-counts.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { isSameProcess } from '../../run/measurements/worker-identity.ts';
import { type Check, check } from './check.ts';

export const workers: Check[] = [
  check('WORKER_URLS_WRONG', (_, measurements) => {
    const unknown = Object.entries(unknownWorkers(measurements)).map(([worker, count]) => `${worker} ${count}`);
    if (unknown.length === 0) return undefined;
    return { message: `connections are on workers that are not in \`control.urls\`: ${unknown.join(', ')}` };
  }),
  check('WORKER_URLS_WRONG', (_, measurements) => {
    const { elsewhere } = changedWorkers(measurements);
    if (elsewhere.length === 0) return undefined;
    return {
      message: `control URLs led to other workers at the end than at the start: ${elsewhere.join(', ')}`,
      fix: 'give the control URL of every worker itself; one of a load balancer leads to another worker after each reconnection',
    };
  }),
  check('DEPLOYMENT_CHANGED', (_, measurements) => {
    const { restarted } = changedWorkers(measurements);
    if (restarted.length === 0) return undefined;
    const unplanned = measurements.fault ? ', other than the planned fault has it' : '';
    return {
      message: `${restarted.join(', ')} restarted${unplanned}`,
      fix: 'see the worker logs; the memory and counters from before the restart are lost',
    };
  }),
];

/**
 * Named by a join, so they exist; without their control nobody reads their memory.
 * @returns their connections
 */
export function unknownWorkers({ workersAtStart, snapshots }: Measurements): Record<string, number> {
  const known = new Set(workersAtStart.map(({ worker }) => worker));
  const joined = Object.entries(sumCounts(snapshots.map(({ perWorker }) => perWorker)));
  return Object.fromEntries(joined.filter(([worker]) => known.size > 0 && !known.has(worker)));
}

/**
 * The workers are in the order of the control URLs; names can be the same.
 * @returns of those that changed other than as planned, who restarted, and of control URLs from which worker to which
 */
function changedWorkers({ workersAtStart, workersAtEnd, fault }: Measurements) {
  const { before, after } = fault?.workers ?? { before: workersAtEnd, after: [] };
  const names = new Set(fault?.restarted);
  const elsewhere: string[] = [];
  const compare = (earlier: typeof before, later: typeof before) => {
    for (const [index, one] of later.entries()) {
      if (isSameProcess(earlier[index], one)) continue;
      const wasThere = earlier.some((other) => isSameProcess(other, one));
      if (wasThere) elsewhere.push(`that of ${earlier[index]?.worker ?? 'none'} to ${one.worker}`);
      else names.add(one.worker);
    }
  };
  compare(workersAtStart, before);
  if (after.length > 0) compare(after, workersAtEnd);
  return { restarted: [...names], elsewhere };
}
