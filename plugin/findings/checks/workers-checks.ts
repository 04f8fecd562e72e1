/** The workers are those that the run began with, and all of them are known. */
import { stalledWorkers } from '../../../report/figures/stalls.ts';
import { unknownWorkers } from '../../result/workers.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { changesBetween } from '../../run/measurements/worker-identity.ts';
import { type Check, check } from '../check.ts';

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
  check('WORKER_STALLED', (result) => stalledWorkers(result)),
  check('DEPLOYMENT_CHANGED', (_, measurements) => {
    const { restarted } = changedWorkers(measurements);
    if (restarted.length === 0) return undefined;
    const unplanned = measurements.fault ? ', other than the planned fault has it' : '';
    return {
      message: `${restarted.map(([worker, evidence]) => `${worker} restarted (${evidence})`).join(', ')}${unplanned}`,
      fix: 'see the worker logs; the memory and counters from before the restart are lost',
    };
  }),
];

/**
 * The workers are in the order of the control URLs; names can be the same.
 * @returns changes other than planned: restarted workers with the evidence, and control URLs that led to another worker
 */
function changedWorkers({ workersAtStart, workersAtEnd, restarts, fault }: Measurements) {
  const { before, after } = fault?.workers ?? { before: workersAtEnd, after: [] };
  const first = changesBetween(workersAtStart, before);
  const second = changesBetween(after, after.length > 0 ? workersAtEnd : []);
  const besideFault = (fault?.restarted ?? []).map((worker) => [worker, 'during the planned fault'] as const);
  return {
    restarted: [...new Map([...besideFault, ...second.restarted, ...first.restarted, ...restarts])],
    elsewhere: [...first.elsewhere, ...second.elsewhere],
  };
}
