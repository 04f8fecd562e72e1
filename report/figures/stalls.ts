/**
 * Finds single stalls of an event loop. A single stall does not change the p99 of the event loop delay, but can affect
 * many measured times.
 */
import { type FindingValue, findingValues } from '../../protocol/result/findings.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { Summary } from '../../protocol/result/shared-schemas.ts';
import { decimalsText } from '../text/format.ts';

type Measured = Pick<Result, 'connections' | 'messages' | 'latency' | 'workersOverTime' | 'stages'>;
type LoopWindow = Result['generator'][number]['window'];
const LOOP_WINDOWS = ['ramp', 'messages', 'broadcasts'] as const;

/** Minimum length of a stall in milliseconds. Shorter delays are noise on a busy machine. */
const MIN_MS = 50;
/** Minimum length of a stall that can explain a measured time, as a share of that time. */
const MIN_SHARE = 0.5;
/**
 * Maximum length of a stall that can explain a measured time, as a multiple of that time. A waiting client waits until
 * the stall ends, so a longer stall would have caused a longer time.
 */
const MAX_SHARE = 1.25;
/** Minimum ratio of a single stall to the usual one. */
const MIN_RATIO = 2;

/**
 * Measured times in which a stall shows, by measurement window. They are compared with their median, because a stall
 * lengthens only some of them. For broadcasts, these are the latencies of the last receivers. Receivers of one
 * broadcast differ even without a stall.
 */
const TIMES: Record<LoopWindow, { what: string; of: (result: Measured) => Summary | null | undefined }> = {
  ramp: { what: 'connect time', of: ({ connections }) => connections.connectMs },
  messages: { what: 'time to an acknowledgement', of: ({ messages }) => messages?.ackMs },
  broadcasts: { what: 'time to the last receiver', of: ({ latency }) => latency.completionMs },
};

/** Returns the measured time that a stall in the window can explain; undefined if there is none. */
export function figureExplainedByStall(result: Measured, window: LoopWindow, stallMs: number) {
  const { what, of } = TIMES[window];
  const times = of(result);
  if (!times || stallMs <= MIN_MS) return undefined;
  // The median of a single value shows nothing, so it counts as 0.
  const usualMs = times.count > 1 ? times.p50 : 0;
  const figure = quoted(times).find(({ ms }) => ms - usualMs > MIN_MS && stallMs >= ms * MIN_SHARE);
  if (!figure) return undefined;
  // Text such as `the connect time of 2,003 ms (max; median 4 ms)`.
  const text = `the ${what} of ${decimalsText(figure.ms, 0)} ms (${figure.name}; median ${decimalsText(times.p50, 0)} ms)`;
  const values = findingValues({ [`${what} (${figure.name})`]: figure.ms, [`${what} (median)`]: times.p50 }, 'ms');
  return { ms: figure.ms, usualMs, count: times.count, text, values };
}

/** Name of the longest stall of an event loop among the values of a finding. The value is in seconds. */
export const STANDSTILL_VALUE = 'longest standstill';

export function standstillValue(seconds: number): FindingValue[] {
  return findingValues({ [STANDSTILL_VALUE]: seconds }, 's');
}

/** Stall of a worker's event loop that explains a measured time. */
export interface WorkerStall {
  subject: string;
  window: LoopWindow;
  message: string;
  values: FindingValue[];
}

/** Returns the longest stall of a worker in each measurement window, if it explains a measured time. */
export function stalledWorkers(result: Measured): WorkerStall[] {
  const rows = result.workersOverTime.flatMap(({ worker, eventLoop }) =>
    (eventLoop?.t ?? []).map((t, index) => {
      const sinceT = eventLoop?.t[index - 1] ?? 0;
      const stage = result.stages.findLast((one) => one.t <= sinceT)?.name;
      return { worker, t, ms: eventLoop?.delayMaxMs[index] ?? 0, stage };
    }),
  );
  return LOOP_WINDOWS.flatMap((window) => {
    const stage = window === 'messages' ? 'hold' : window;
    const sorted = rows.filter((row) => row.stage === stage).toSorted((a, b) => b.ms - a.ms);
    const [longest] = sorted;
    const explained = longest && figureExplainedByStall(result, window, longest.ms);
    if (!longest || !explained || longest.ms > MAX_SHARE * explained.ms) return [];
    // Between broadcasts, workers wait, so each broadcast counts with one of the longest stalls.
    const times = window === 'broadcasts' ? explained.count : sorted.length;
    const usual = usualStallMs(sorted.slice(0, times));
    if (isPartOf(usual, explained.usualMs) && longest.ms < MIN_RATIO * usual) return [];
    const { worker, ms, t } = longest;
    const message = `worker ${worker} stood still for ${decimalsText(ms, 0)} ms until ${decimalsText(t, 0)} s: ${explained.text}`;
    const values = [
      ...standstillValue(ms / 1000),
      ...findingValues({ 'end of the standstill': t }, 's'),
      ...explained.values,
    ];
    return [{ subject: `worker ${worker}`, window, message, values }];
  });
}

/**
 * Returns whether stalls of this length are most of the usual time. A worker that writes a broadcast to many clients
 * stands still each time, and longer while it waits for a CPU, so no single stall explains the longest time.
 */
function isPartOf(stallMs: number, usualMs: number): boolean {
  return stallMs >= usualMs * MIN_SHARE && stallMs <= usualMs * MAX_SHARE;
}

/** Returns the lower median of stalls, longest first. A single stall shows nothing, so it counts as 0. */
function usualStallMs(stalls: { ms: number }[]): number {
  return stalls.length > 1 ? (stalls[Math.ceil((stalls.length - 1) / 2)]?.ms ?? 0) : 0;
}

/** Returns the highest available percentile and the maximum of a distribution, with their names. */
function quoted({ p90, p95, p99, max }: Summary): { name: string; ms: number }[] {
  const percentiles = Object.entries({ p99, p95, p90 }).flatMap(([name, ms]) => (ms === null ? [] : [{ name, ms }]));
  return [...percentiles.slice(0, 1), { name: 'max', ms: max }];
}
