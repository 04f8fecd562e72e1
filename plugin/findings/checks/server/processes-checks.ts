/** Checks the server's processes and workers: none may be idle, replaced or unreadable. */

import { findingValues } from '../../../../protocol/result/findings.ts';
import type { Result } from '../../../../protocol/result/result.ts';
import type { MeasuredProcesses } from '../../../../protocol/result/server-schema.ts';
import { stalledWorkers } from '../../../../report/figures/stalls.ts';
import { megabytesText } from '../../../../report/text/format.ts';
import { unknownWorkers } from '../../../result/assemble-workers.ts';
import type { Measurements } from '../../../run/measurements/measurements.ts';
import { absentSinceSeconds, describeAbsence } from '../../../samplers/index.ts';
import { type CheckFinding, defineCheck, type FindingCheck } from '../../check.ts';
import { changedWorkers, silentWorkers } from './ended-workers.ts';

/** Noise of the memory of an idle process, in bytes. */
const NOISE_BYTES = 1024 ** 2;
/** Minimum growth of a worker's memory, as a share of the growth of all workers. */
const MIN_SHARE = 0.1;

export const processesChecks: FindingCheck[] = [
  defineCheck('PROCESS_WITHOUT_CONNECTIONS', ({ processes: found, workersOverTime }, measurements) =>
    found ? apart(found, workersOverTime, measurements) : undefined,
  ),
];

function apart(
  { measured, port }: MeasuredProcesses,
  overTime: Result['workersOverTime'],
  { workersAtStart }: Pick<Measurements, 'workersAtStart'>,
): CheckFinding {
  const workers = measured
    .filter(({ layer }) => layer === 'worker')
    .map((one) => {
      const name = workersAtStart.find(({ pid }) => pid === one.pid)?.worker ?? `process ${one.pid}`;
      const { rssBytes = [] } = overTime.find(({ worker }) => worker === name)?.process ?? {};
      return { ...one, grewBytes: Math.max(...rssBytes, 0) - (rssBytes[0] ?? 0) };
    });
  const all = workers.reduce((sum, { grewBytes }) => sum + grewBytes, 0);
  const wrong = workers.filter(
    ({ holds, grewBytes }) => holds === false && grewBytes > Math.max(NOISE_BYTES, MIN_SHARE * all),
  );
  if (wrong.length === 0) return undefined;
  const named = wrong.map(({ pid, command, ports, grewBytes }) => {
    const where = ports && ports.length > 0 ? `, port ${ports.join(', ')}` : '';
    return `process ${pid} (${command}${where}) grew by ${megabytesText(grewBytes)} MB`;
  });
  return {
    values: wrong.flatMap(({ pid, grewBytes }) => findingValues({ [`growth of process ${pid}`]: grewBytes }, 'bytes')),
    message: `${named.join(' and ')} and held no connection, while other measured processes held them`,
    fix: `name the processes of the server alone: ss -tlnp 'sport = :${port}' names those that listen on the target's port`,
  };
}

/** Reports sources of figures that could not be read when the run needed them. */
export const sourcesChecks: FindingCheck[] = [
  defineCheck('SOURCE_UNREADABLE', (_, { absentSources, samplesBeganAtUs }) =>
    [...absentSources].map(([source, absence]) => ({
      message: describeAbsence(source, absence, samplesBeganAtUs),
      subject: source,
      values: findingValues({ 'start of the absence': absentSinceSeconds(absence, samplesBeganAtUs) }, 's'),
      fix: absence.fix,
    })),
  ),
];

/** Checks that all workers are known, and that the workers are the same as at the start. */
export const workersChecks: FindingCheck[] = [
  defineCheck('WORKER_URLS_WRONG', (_, measurements) => {
    const unknown = Object.entries(unknownWorkers(measurements)).map(([worker, count]) => `${worker} ${count}`);
    if (unknown.length === 0) return undefined;
    return {
      message: `connections are on workers that are not in \`control.urls\`: ${unknown.join(', ')}`,
      values: findingValues(unknownWorkers(measurements)),
    };
  }),
  defineCheck('WORKER_URLS_WRONG', (_, measurements) => {
    const { elsewhere } = changedWorkers(measurements);
    if (elsewhere.length === 0) return undefined;
    return {
      message: `control URLs led to other workers at the end than at the start: ${elsewhere.join(', ')}`,
      fix: 'give the control URL of every worker itself; one of a load balancer leads to another worker after each reconnection',
    };
  }),
  defineCheck('WORKER_STALLED', stalledWorkers),
  defineCheck('DEPLOYMENT_CHANGED', (result, measurements) => {
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
