/** What the generator's machine did to the measurement: no CPU left, memory on a disk, samples that did not come. */

import type { Reason } from '../../../protocol/codes/verdict-reasons.ts';
import type { Result } from '../../../protocol/result/result.ts';

/**
 * On two cores that are busy for 90 % of the time, a thread waits about four times as long as it runs (M/M/2), and
 * twenty-four times at 98 %: what is measured then is the queue for the CPU.
 */
const MIN_IDLE_PERCENT = 10;
/** Some machines are kept busy by work of low priority, which makes nobody wait. */
const MAX_WAIT_SHARE = 0.2;
/** Single pages come and go on a machine that has swap and no need of it. */
const MAX_SWAPPED_BYTES = 1024 ** 2;
const MAX_MISSED_SHARE = 0.05;
const MAX_GAP_INTERVALS = 5;

type Measured = Omit<Result, 'verdict'>;

export function* machineProblems(result: Measured): Generator<Reason> {
  yield* saturation(result);
  yield* swapping(result);
  yield* samplerGaps(result);
}

type Window = Result['generator'][number]['window'];

interface Saturation {
  window: Window;
  idlePercent: number;
  /** The generator's threads, of the time they wanted to run; empty where nobody knows. */
  waits: number[];
}

/** @returns undefined where the window had CPU left, or nobody waited for it */
export function saturationIn({ machine, generator }: Measured, window: Window): Saturation | undefined {
  const idlePercent = machine?.cpuIdlePercent[window] ?? null;
  if (idlePercent === null || idlePercent >= MIN_IDLE_PERCENT) return undefined;
  const waits = generator.flatMap((loop) => (loop.window === window ? (loop.cpuWaitShare ?? []) : []));
  return waits.length > 0 && Math.max(...waits) <= MAX_WAIT_SHARE ? undefined : { window, idlePercent, waits };
}

/** Of the windows that are saturated, the one in which least was idle. */
function* saturation(result: Measured): Generator<Reason> {
  const saturated = (['ramp', 'messages', 'broadcasts'] as const).flatMap(
    (window) => saturationIn(result, window) ?? [],
  );
  const [worst] = saturated.toSorted((a, b) => a.idlePercent - b.idlePercent);
  if (!worst) return;
  const waited = Math.max(...worst.waits);
  const waiting = `, and a thread of the generator waited for a CPU for ${(100 * waited).toFixed(0)} % of the time that it was ready to run`;
  yield {
    code: 'MACHINE_SATURATED',
    message: `only ${worst.idlePercent.toFixed(1)} % of ${machineOf(result, worst)} was idle during the ${worst.window}${worst.waits.length > 0 ? waiting : ''}: times and rates are limited by the machine`,
    fix: 'give the generator its own machine, add cores to this one, or lower the rate',
  };
}

/** Of several generator hosts, the one with the least idle. */
function machineOf({ generators }: Measured, { window, idlePercent }: Saturation): string {
  const busiest = generators.find(({ cpu }) => cpu.idlePercent[window] === idlePercent);
  return busiest ? `generator host ${busiest.host}` : "the generator's machine";
}

function* swapping({ machine }: Measured): Generator<Reason> {
  const { swappedInBytes: read, swappedOutBytes: written } = machine ?? {};
  if (Math.max(read ?? 0, written ?? 0) <= MAX_SWAPPED_BYTES) return;
  yield {
    code: 'SWAPPING',
    message: `the machine swapped out ${megabytes(written)} MB and in ${megabytes(read)} MB during the run: swapped-out memory is missing from every layer`,
    fix: 'run swapoff -a, add memory, or use fewer connections',
  };
}

function* samplerGaps({ sampling }: Measured): Generator<Reason> {
  if (!sampling) return;
  const { intervalMs, taken, missed, longestGapMs, failures } = sampling;
  const due = taken + missed;
  const failing = Object.entries(failures).filter(([, count]) => count > due * MAX_MISSED_SHARE);
  const seen = [
    ...(missed > due * MAX_MISSED_SHARE ? [`${missed} of ${due} samples are missing`] : []),
    ...(longestGapMs > intervalMs * MAX_GAP_INTERVALS
      ? [`the longest gap is ${(longestGapMs / 1000).toFixed(1)} s`]
      : []),
    ...failing.map(([source, count]) => `${source} failed ${count} times`),
  ];
  if (seen.length === 0) return;
  yield {
    code: 'SAMPLER_GAPS',
    message: `${seen.join(', ')}: peaks may have been missed`,
    fix:
      failing.length > 0
        ? `see whether ${failing.map(([source]) => source).join(' and ')} still answers, and in time: whoever waits for it takes no samples`
        : 'give the generator more CPU',
  };
}

function megabytes(bytes: number | null | undefined): string {
  return ((bytes ?? 0) / 1024 ** 2).toFixed(1);
}
