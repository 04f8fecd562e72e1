/** Each Socket.IO worker over time. */
import type { Result } from '../../protocol/result/result.ts';
import type { Measurements } from '../run/measurements/measurements.ts';
import type { Sampler } from '../samplers/index.ts';

/** A worker that was restarted is there once for each of its processes, by its name and the process's id. */
export function workersOverTime(
  { workersAtStart, workersAtEnd, eventLoops }: Measurements,
  sampler: Pick<Sampler, 'workers'>,
): Result['workersOverTime'] {
  const known = [...workersAtStart, ...workersAtEnd];
  const processes = sampler.workers().map(({ pid, ...process }) => {
    const worker = known.find((one) => one.pid === pid)?.worker;
    const isFirst = !workersAtStart.some((one) => one.worker === worker && one.pid !== pid);
    return {
      worker: worker === undefined ? `process ${pid}` : isFirst ? worker : `${worker}, process ${pid}`,
      process,
    };
  });
  const loops = new Map(
    eventLoops
      .filter(({ seconds }) => seconds.length > 0)
      .map(({ worker, seconds: t, delayP99Ms, delayMaxMs }) => [worker, { t, delayP99Ms, delayMaxMs }]),
  );
  const names = [...new Set([...processes.map(({ worker }) => worker), ...loops.keys()])];
  return names
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .map((worker) => ({
      worker,
      process: processes.find((one) => one.worker === worker)?.process ?? null,
      eventLoop: loops.get(worker) ?? null,
    }));
}
