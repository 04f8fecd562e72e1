/** Checks an invariant of CPU time: no process can use more than all cores of its machine. */
import { cpus } from 'node:os';
import { findingValues } from '../../../protocol/result/findings.ts';
import { decimalsText } from '../../../report/text/format.ts';
import type { CpuWindow } from '../../run/measurements/measured-windows.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { LAYERS } from '../../samplers/index.ts';
import { sum } from '../sums.ts';
import type { Violation } from './violation.ts';

/**
 * Allowed error of CPU times: a share and a number of seconds. CPU times are in ticks, and some servers update them
 * once a second.
 */
const MARGIN = { share: 0.1, seconds: 1 };

/**
 * Ids of layers whose CPU time comes from the kernel. When a child process exits, the kernel adds its whole CPU time at
 * once.
 */
const READ_FROM_KERNEL = LAYERS.filter(({ belongsTo }) => belongsTo === 'generator').map(({ id }) => id);

/**
 * Returns the layers that report more CPU time than their machines have, with the window in which the excess is
 * largest.
 */
export function impossibleCpu({
  sharedHost,
  cpu,
  workerResources,
}: Pick<Measurements, 'sharedHost' | 'cpu' | 'workerResources'>): Violation[] {
  const machines = new Map(workerResources.map(({ machine }) => [machine.kernel, machine.cores]));
  const elsewhere = machines.size === 0 ? Number.POSITIVE_INFINITY : sum([...machines.values()]);
  const cores = sharedHost ? cpus().length : elsewhere;
  const found = new Map<string, { cpuSeconds: number; seconds: number }>();
  for (const { secondsAtMost: seconds, cpuUs } of windowsInTimeOrder(cpu)) {
    for (const [layer, us] of Object.entries(cpuUs)) {
      const cpuSeconds = us / 1e6;
      const before = found.get(layer);
      if (READ_FROM_KERNEL.includes(layer)) continue;
      if (cpuSeconds <= cores * seconds * (1 + MARGIN.share) + MARGIN.seconds) continue;
      if (!before || cpuSeconds / seconds > before.cpuSeconds / before.seconds) {
        found.set(layer, { cpuSeconds, seconds });
      }
    }
  }
  return [...found].map(([layer, { cpuSeconds, seconds }]) => ({
    figures: [layer],
    message: `${layer} reported ${decimalsText(cpuSeconds, 1)} s of CPU within ${decimalsText(seconds, 1)} s on ${cores} cores`,
    values: [
      ...findingValues({ 'CPU time': cpuSeconds, 'length of the window': seconds }, 's'),
      ...findingValues({ cores }),
    ],
    fix: 'let its metrics give CPU time in seconds, and control ports in microseconds',
  }));
}

/** Returns all measurement windows in chronological order. */
export function windowsInTimeOrder({ unloaded, ramps, idle, messages, broadcasts }: Measurements['cpu']): CpuWindow[] {
  return [...unloaded, ...ramps, ...idle, ...messages, ...broadcasts];
}
