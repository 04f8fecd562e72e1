/**
 * Finds workers that ended or restarted, from their statistics and control ports. For workers on other hosts, the run
 * has no other source.
 */
import { totalOfCounts } from '../../../../report/text/format.ts';
import type { Measurements } from '../../../run/measurements/measurements.ts';
import { changesBetween, type Restart, type SilentWorker } from '../../../run/measurements/worker-identity.ts';
import type { RunFigures } from '../../check.ts';
import { deploymentFailures, filterCounts, isCutOffCause } from '../connections/failure-causes.ts';

/**
 * Compares workers in the order of the control URLs, because several workers can have the same name.
 * @returns unplanned changes: restarted workers, and control URLs that lead to another worker
 */
export function changedWorkers({ workersAtStart, workersAtEnd, restarts, fault }: Measurements) {
  const { before, after } = fault?.workers ?? { before: workersAtEnd, after: [] };
  const first = changesBetween(workersAtStart, before);
  const second = changesBetween(after, after.length > 0 ? workersAtEnd : []);
  const besideFault = (fault?.restarted ?? []).map((worker) => [worker, 'during the planned fault'] as const);
  const evident = [...besideFault, ...second.restarted, ...first.restarted].map(
    ([worker, evidence]): [string, Restart] => [worker, { evidence }],
  );
  return {
    restarted: [...new Map([...evident, ...restarts])].map(([worker, restart]) => ({ worker, ...restart })),
    elsewhere: [...first.elsewhere, ...second.elsewhere],
  };
}

/** Returns restarted workers whose process is not in `endedProcesses`. */
export function restartedWorkers(measurements: Measurements): ({ worker: string } & Restart)[] {
  return changedWorkers(measurements).restarted.filter(({ worker }) => !isSeenToEnd(worker, measurements));
}

/**
 * Finds workers that do not answer. If a control port refuses connections, the process of the worker counts as ended
 * only if clients were disconnected, too.
 * @returns workers whose process ended, and workers for which this is unknown
 */
export function silentWorkers(
  { connections: { lost, failures } }: RunFigures,
  measurements: Measurements,
): Record<'ended' | 'unknown', SilentWorker[]> {
  const areCutOff = totalOfCounts(filterCounts(deploymentFailures({ ...failures, ...lost }), isCutOffCause)) > 0;
  const silent = measurements.silentWorkers.filter(({ worker }) => !isSeenToEnd(worker, measurements));
  const isEnded = ({ isRefused }: SilentWorker) => isRefused && areCutOff;
  return { ended: silent.filter(isEnded), unknown: silent.filter((one) => !isEnded(one)) };
}

function isSeenToEnd(name: string, { workersAtStart, endedProcesses }: Measurements): boolean {
  const { pid } = workersAtStart.find(({ worker }) => worker === name) ?? {};
  return endedProcesses().some((one) => one.pid === pid);
}
