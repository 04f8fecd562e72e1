/** The workers are the ones that the run began with, and all are known. */

import { valuesOf } from '../../../../protocol/result/findings.ts';
import { stalledWorkers } from '../../../../report/figures/stalls.ts';
import { unknownWorkers } from '../../../result/assemble-workers.ts';
import { type Check, check } from '../../check.ts';
import { changedWorkers, silentWorkers } from './ended-workers.ts';

export const workers: Check[] = [
  check('WORKER_URLS_WRONG', (_, measurements) => {
    const unknown = Object.entries(unknownWorkers(measurements)).map(([worker, count]) => `${worker} ${count}`);
    if (unknown.length === 0) return undefined;
    return {
      message: `connections are on workers that are not in \`control.urls\`: ${unknown.join(', ')}`,
      values: valuesOf(unknownWorkers(measurements)),
    };
  }),
  check('WORKER_URLS_WRONG', (_, measurements) => {
    const { elsewhere } = changedWorkers(measurements);
    if (elsewhere.length === 0) return undefined;
    return {
      message: `control URLs led to other workers at the end than at the start: ${elsewhere.join(', ')}`,
      fix: 'give the control URL of every worker itself; one of a load balancer leads to another worker after each reconnection',
    };
  }),
  check('WORKER_STALLED', stalledWorkers),
  check('DEPLOYMENT_CHANGED', (result, measurements) => {
    const { unknown } = silentWorkers(result, measurements);
    const refused = unknown.filter(({ isRefused }) => isRefused);
    const answers = [
      ...(unknown.length > refused.length
        ? [`${names(unknown.filter(({ isRefused }) => !isRefused))} no longer answered`]
        : []),
      ...(refused.length > 0 ? [`the control port of ${names(refused)} refused connections`] : []),
    ];
    return answers.length > 0 ? `${answers.join(', and ')} when the run stopped` : undefined;
  }),
];

function names(workers: { worker: string }[]): string {
  return workers.map(({ worker }) => worker).join(', ');
}
