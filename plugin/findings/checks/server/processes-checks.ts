/** Memory of processes that are charged to the server, and that held none of the connections. */

import { valuesOf } from '../../../../protocol/result/findings.ts';
import type { Result } from '../../../../protocol/result/result.ts';
import type { MeasuredProcesses } from '../../../../protocol/result/server-schema.ts';
import { megabytes } from '../../../../report/text/format.ts';
import type { Measurements } from '../../../run/measurements/measurements.ts';
import { type Check, check, type Found } from '../../check.ts';

/** Pages of an idle process move by as much. */
const NOISE_BYTES = 1024 ** 2;
/** Share of what all workers grew by. */
const MIN_SHARE = 0.1;

export const processes: Check[] = [
  check('PROCESS_APART', ({ processes: found, workersOverTime }, measurements) =>
    found ? apart(found, workersOverTime, measurements) : undefined,
  ),
];

function apart(
  { measured, port }: MeasuredProcesses,
  overTime: Result['workersOverTime'],
  { workersAtStart }: Pick<Measurements, 'workersAtStart'>,
): Found {
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
    return `process ${pid} (${command}${where}) grew by ${megabytes(grewBytes)} MB`;
  });
  return {
    values: wrong.flatMap(({ pid, grewBytes }) => valuesOf({ [`growth of process ${pid}`]: grewBytes }, 'bytes')),
    message: `${named.join(' and ')} and held no connection, while other measured processes held them`,
    fix: `name the processes of the server alone: ss -tlnp 'sport = :${port}' names those that listen on the target's port`,
  };
}
