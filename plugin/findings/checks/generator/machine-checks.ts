/** Detects problems of the generator's machine that affect the measurement: no free CPU, swapping, missing samples. */

import type { FindingCode } from '../../../../protocol/codes/finding-codes.ts';
import { findingValues } from '../../../../protocol/result/findings.ts';
import type { Result } from '../../../../protocol/result/result.ts';
import {
  type CpuContention,
  cpuContention,
  distortingContention,
  longestPressureWait,
} from '../../../../report/figures/contention.ts';
import { isThrottled, type ThrottledByWindow, throttledShare } from '../../../../report/figures/usable-resources.ts';
import { withUnit } from '../../../../report/model/amount.ts';
import { decimalsText, integerText, megabytesText } from '../../../../report/text/format.ts';
import { violationsOf } from '../../../result/invariants/invariants.ts';
import { type CheckFinding, defineCheck, type FindingCheck, type FindingDetail, type RunFigures } from '../../check.ts';

/**
 * Minimum idle CPU in percent. On two cores with 90 % CPU use, a thread waits about four times as long as it runs
 * (M/M/2 queue), and twenty-four times with 98 %. Latency then mainly measures the wait for a CPU.
 */
const MIN_IDLE_PERCENT = 10;
/**
 * Maximum share of the time for which threads may wait for a CPU. Programs of low priority can use all idle CPU without
 * delaying other threads.
 */
const MAX_WAIT_SHARE = 0.2;
/**
 * Maximum share of the CPUs that other programs may use. Runs of 1,000 connections on two cores were compared with runs
 * on a quiet machine: with a share of 25 to 50 %, the latency's p99 was 1.0 to 1.5 times as high; with 55 %, ten times.
 */
const MAX_OTHERS_SHARE = 0.5;
/**
 * Maximum share of a measurement window in which a process waited for memory, for example while pages of programs were
 * read again.
 */
const MAX_MEMORY_WAIT_SHARE = 0.1;
/**
 * Maximum number of bytes that the machine may swap during a run. A machine with swap may move some pages even if it
 * has enough memory.
 */
const MAX_SWAPPED_BYTES = 1024 ** 2;
const MAX_MISSED_SHARE = 0.05;
const MAX_GAP_INTERVALS = 5;

export const machineChecks: FindingCheck[] = [
  defineCheck('MACHINE_SATURATED', saturation),
  defineCheck('MACHINE_SATURATED', ({ machine }) => {
    const found = worst(machine?.throttled ?? null);
    return found === undefined
      ? undefined
      : { ...found, fix: 'raise the CPU limit of the container, or lower the load' };
  }),
  defineCheck('WORKERS_THROTTLED', ({ workers }) =>
    workers.flatMap(({ worker, throttled }) => {
      const found = worst(throttled);
      return found === undefined ? [] : { ...found, message: `${worker}: ${found.message}` };
    }),
  ),
  defineCheck('SWAPPING', swapping),
  defineCheck('READINGS_MISSING', samplerGaps),
  defineCheck('READINGS_IMPOSSIBLE', (_, measurements) =>
    violationsOf(measurements).map(({ figures, message, values, ...detail }) => ({
      ...detail,
      values: [...values, ...findingValues({ 'figures left out': figures.length })],
      message: `${message}, which is impossible: ${figures.join(', ')} left out`,
    })),
  ),
];

type Window = Result['generator'][number]['window'];

interface Saturation {
  window: Window;
  idlePercent: number;
  /** Share of the time for which each thread of the generator waited for a CPU. Empty if unknown. */
  waits: number[];
}

/**
 * Returns how busy the CPU was in a measurement window; undefined if CPU was free, or if no thread waited for a CPU.
 */
export function machineSaturation({ machine, generator }: RunFigures, window: Window): Saturation | undefined {
  const idlePercent = machine?.cpuIdlePercent[window] ?? null;
  if (idlePercent === null || idlePercent >= MIN_IDLE_PERCENT) return undefined;
  const waits = generator.flatMap((loop) => (loop.window === window ? (loop.cpuWaitShare ?? []) : []));
  return waits.length > 0 && Math.max(...waits) <= MAX_WAIT_SHARE ? undefined : { window, idlePercent, waits };
}

/** Reports the measurement window with the least idle CPU among the saturated windows. */
function saturation(result: RunFigures): CheckFinding {
  const saturated = (['ramp', 'messages', 'broadcasts'] as const).flatMap(
    (window) => machineSaturation(result, window) ?? [],
  );
  const [worst] = saturated.toSorted((a, b) => a.idlePercent - b.idlePercent);
  const taken = cpuContention(result);
  if (!worst) return taken && taken.share >= MAX_OTHERS_SHARE ? byOthers(taken) : undefined;
  const waitPercent = worst.waits.length > 0 ? 100 * Math.max(...worst.waits) : undefined;
  const waiting =
    waitPercent === undefined
      ? ''
      : `, and a thread of the generator waited for a CPU for ${withUnit('percent', waitPercent)} of the time that it was ready to run`;
  // If there are several generator hosts, the host with the least idle CPU is reported.
  const busiest = result.generators.find(({ cpu }) => cpu.idlePercent[worst.window] === worst.idlePercent);
  const where = busiest ? `generator host ${busiest.host}` : "the generator's machine";
  const idle = `only ${withUnit('percent', worst.idlePercent)} of ${where} was idle during the ${worst.window}${waiting}`;
  const windows = [...new Set([...saturated.map(({ window }) => window), ...(taken?.windows ?? [])])];
  const window = windows.length === 1 ? { window: worst.window } : {};
  const values = findingValues({ 'idle CPU': worst.idlePercent, 'waiting for a CPU': waitPercent }, '%');
  if (!taken) return { message: idle, values, ...window };
  const others = byOthers(taken);
  return { ...others, message: `${taken.text}; ${idle}`, values: [...values, ...(others.values ?? [])], ...window };
}

function byOthers({ text, values, programs, windows: [window, ...more] }: CpuContention): FindingDetail {
  const fix =
    programs.length > 0
      ? `stop ${programs.join(' and ')}, or measure while it is idle`
      : 'use a machine of your own, or measure while the others are idle';
  return { message: text, values, fix, ...(window !== undefined && more.length === 0 && { window }) };
}

/** Codes of findings that a lack of CPU time can cause. */
const LATE: FindingCode[] = ['GENERATOR_LATE', 'RATE_NOT_REACHED', 'BROADCASTS_LATE'];

/**
 * Returns the CPU use of other programs, if it may have delayed timers, connects or broadcasts and no finding reports
 * it yet.
 */
export function causeOfLateness(
  result: RunFigures,
  found: readonly { code: FindingCode }[],
): (FindingDetail & { code: FindingCode })[] {
  const codes = found.map(({ code }) => code);
  const taken = distortingContention(result);
  if (!taken || codes.includes('MACHINE_SATURATED') || !codes.some((code) => LATE.includes(code))) return [];
  return [{ code: 'MACHINE_SATURATED', ...byOthers(taken) }];
}

function swapping(result: RunFigures): CheckFinding {
  const { swappedInBytes: read, swappedOutBytes: written } = result.machine ?? {};
  const waited = longestPressureWait(result, 'memory');
  if (waited && waited.share > MAX_MEMORY_WAIT_SHARE)
    return {
      message: `programs waited for memory for ${withUnit('percent', 100 * waited.share)} of the time ${waited.during}`,
      values: findingValues({ 'waiting for memory': 100 * waited.share }, '%'),
    };
  if (Math.max(read ?? 0, written ?? 0) <= MAX_SWAPPED_BYTES) return undefined;
  return {
    message: `the machine swapped out ${megabytesText(written ?? 0)} MB and in ${megabytesText(read ?? 0)} MB`,
    values: findingValues({ 'swapped out': written, 'swapped in': read }, 'bytes'),
  };
}

function samplerGaps({ sampling, fault }: RunFigures): CheckFinding {
  if (!sampling) return undefined;
  const { intervalMs, taken, missed, longestGapMs, failures } = sampling;
  const due = taken + missed;
  // A process that a planned fault restarts cannot be read during the restart.
  const failing = fault ? [] : Object.entries(failures).filter(([, count]) => count > due * MAX_MISSED_SHARE);
  const seen = [
    ...(missed > due * MAX_MISSED_SHARE ? [`${missed} of ${due} samples are missing`] : []),
    ...(longestGapMs > intervalMs * MAX_GAP_INTERVALS
      ? [`the longest gap is ${withUnit('seconds', longestGapMs / 1000)}`]
      : []),
    ...failing.map(([source, count]) => `${source} failed ${count} times`),
  ];
  if (seen.length === 0) return undefined;
  const sources = failing.map(([source]) => source).join(' and ');
  const fix = sources
    ? `check that ${sources} still answers in time: a slow source delays all samples`
    : 'give the generator more CPU';
  const values = [
    ...findingValues({ 'missing samples': missed, 'due samples': due, ...failuresOf(failing) }),
    ...findingValues({ 'longest gap': longestGapMs }, 'ms'),
  ];
  return { message: `${seen.join(', ')}: peaks may have been missed`, values, fix };
}

function failuresOf(failing: [source: string, count: number][]): Record<string, number> {
  return Object.fromEntries(failing.map(([source, count]) => [`failures of ${source}`, count]));
}

/**
 * Returns a text such as `743 of 1,969 periods throttled during the ramp: its container may use 0.12 cores` for the
 * measurement window with the most throttling; undefined if throttling is rare.
 */
function worst(windows: ThrottledByWindow): FindingDetail | undefined {
  const [window] = (['ramp', 'messages', 'broadcasts'] as const).toSorted(
    (a, b) => throttledShare(windows, b) - throttledShare(windows, a),
  );
  const throttled = window && windows?.[window];
  if (!throttled || !isThrottled(windows, window)) return undefined;
  const { cores, periods, throttledPeriods, throttledMs } = throttled;
  const stopped = `${integerText(throttledPeriods)} of ${integerText(periods)} periods throttled during the ${window}`;
  const share = `${decimalsText(cores, 2)} core${cores === 1 ? '' : 's'}`;
  return {
    message: `${stopped}, for ${withUnit('seconds', throttledMs / 1000)} in all: this container may use ${share}`,
    values: [
      ...findingValues({ 'throttled periods': throttledPeriods, periods }),
      ...findingValues({ throttled: throttledMs }, 'ms'),
      ...findingValues({ 'allowed cores': cores }),
    ],
  };
}
