/**
 * Detects broadcasts that took far longer than most broadcasts. Percentiles over all copies do not show how delays are
 * distributed over broadcasts.
 */
import { decodeHistogram, recordedValuesUs } from '../../../../protocol/base/histogram.ts';
import type { BroadcastBatch } from '../../../../protocol/result/delivery-schema.ts';
import { findingValues } from '../../../../protocol/result/findings.ts';
import { withUnit } from '../../../../report/model/amount.ts';
import { median } from '../../../../report/statistics/statistics.ts';
import { decimalsText, integerText } from '../../../../report/text/format.ts';
import { sum } from '../../../result/sums.ts';
import type { Measurements } from '../../../run/measurements/measurements.ts';
import { defineCheckUnless, type FindingCheck, type FindingDetail, type RunFigures } from '../../check.ts';
import { longestDelayMs, MAX_DELAY_RATIO } from '../../evidence.ts';
import { workerCpuInStage } from '../server/saturation-checks.ts';
import { stalledServer } from '../server/stalls-checks.ts';
import { maxServerCount } from './adapter-checks.ts';

const MIN_BROADCASTS = 5;
const MIN_DELAY_MS = 500;
/** Minimum time to the last receiver of a delayed broadcast, as a multiple of the usual time. */
const MIN_TIMES = 10;
/** Maximum share of delayed broadcasts. If more broadcasts are delayed, the delay is not an exception. */
const MAX_SHARE = 0.5;
/** Maximum difference between the arrival times of copies that waited for the same moment, in seconds. */
const SAME_MOMENT_SECONDS = 0.1;

interface Timed extends BroadcastBatch {
  t: number;
  firstMs: number;
  lastMs: number;
}

export const delaysChecks: FindingCheck[] = [
  defineCheckUnless('abort', 'BROADCASTS_DELAYED', (result, measurements) => {
    const isTimed = (one: BroadcastBatch): one is Timed =>
      one.t !== null && one.firstMs !== null && one.lastMs !== null;
    const batches = result.delivery?.batches.filter(isTimed) ?? [];
    // A planned fault delays broadcasts, and another finding reports a standstill of the server.
    if (batches.length < MIN_BROADCASTS || result.fault || stalledServer(result)) return undefined;
    const usualMs = median(batches.map(({ lastMs }) => lastMs)) ?? 0;
    const isHeld = batches.every(({ firstMs }) => firstMs >= MIN_DELAY_MS);
    if (isHeld) return heldBack(batches, result);
    const leastMs = Math.max(MIN_DELAY_MS, MIN_TIMES * usualMs, MAX_DELAY_RATIO * longestDelayMs(result));
    const late = batches.filter(({ lastMs }) => lastMs >= leastMs);
    if (late.length === 0 || late.length > MAX_SHARE * batches.length) return undefined;
    const [forAll, forSome] = [late.filter(isForAll), late.filter((one) => !isForAll(one))];
    const usual: Usual = { broadcasts: batches.length, usualMs, leastMs };
    return [
      ...(forAll.length > 0 ? [ofAll(forAll, usual)] : []),
      ...(forSome.length > 0 ? [ofSome(forSome, usual, result, measurements)] : []),
    ];

    function isForAll({ firstMs }: Timed): boolean {
      return firstMs >= leastMs;
    }
  }),
];

/** Usual times of a run, with which delayed broadcasts are compared. */
interface Usual {
  broadcasts: number;
  /** Median time from the send of a broadcast to its last receiver. */
  usualMs: number;
  /** Minimum time from the send to the last receiver that counts as a delay. */
  leastMs: number;
}

function ofAll(late: Timed[], usual: Usual): FindingDetail {
  const range = rangeText(late.map(({ lastMs }) => lastMs));
  return {
    values: delayValues(late, usual),
    message: `${late.length} of ${usual.broadcasts} broadcasts took ${range} to reach all connections${othersText(usual)}`,
    window: 'broadcasts',
  };
}

function ofSome(late: Timed[], usual: Usual, result: RunFigures, measurements: Measurements): FindingDetail {
  const ends = late.map(({ t, lastMs }) => t + lastMs / 1000);
  const isTogether = late.length > 1 && Math.max(...ends) - Math.min(...ends) <= SAME_MOMENT_SECONDS;
  const [slow, all] = receivers(late, usual.leastMs, measurements);
  const who = `${integerText(slow)} of ${integerText(all)} connections`;
  const others = othersText(usual);
  const longest = Math.max(...late.map(({ lastMs }) => lastMs));
  const servers = maxServerCount(result, measurements);
  const hasRedis = result.processes?.measured.some(({ layer }) => layer === 'redis');
  const between = hasRedis ? 'Redis (`SLOWLOG GET`, `LATENCY LATEST`)' : 'the adapter and its Redis or broker';
  return {
    values: [
      ...delayValues(late, usual),
      ...findingValues({ 'delayed connections': slow, connections: all }),
      ...(isTogether ? findingValues({ 'end of the delay': Math.max(...ends) }, 's') : []),
    ],
    message: isTogether
      ? `${who} got nothing for ${decimalsText(longest / 1000, 1)} s, then the copies of ${late.length} broadcasts all at once at ${decimalsText(Math.max(...ends), 1)} s, while the other connections got them in time${others}`
      : `${late.length} of ${usual.broadcasts} broadcasts took ${rangeText(late.map(({ lastMs }) => lastMs))} to ${who}${others}`,
    window: 'broadcasts',
    ...(servers > 1 && {
      fix: `see what brings messages from one of the ${servers} processes to the others: ${between}; then whether one process itself stood still`,
      about: 'deployment' as const,
    }),
  };
}

/**
 * Minimum ratio between the shortest and the longest time to the first copy. Times vary more if load causes the delay,
 * and less if a timer does.
 */
const MIN_EVEN_SHARE = 0.8;
/** Maximum share of the delay that the CPU time of the workers may explain. */
const MAX_CPU_SHARE = 0.5;

/**
 * Detects that every broadcast waits for the same time, although this time is much longer than a round trip and neither
 * the generator nor a CPU is busy.
 */
function heldBack(batches: Timed[], result: RunFigures): FindingDetail | undefined {
  const { latency, connections, messages, generator } = result;
  const firsts = batches.map(({ firstMs }) => firstMs);
  const [least, most] = [Math.min(...firsts), Math.max(...firsts)];
  const trips = [connections.stagesMs.namespace?.p50, messages?.ackMs?.p50].flatMap((ms) => ms ?? []);
  const tripMs = Math.max(...trips);
  const isTimed = latency.from === 'server' || latency.from === 'publisher';
  const isOnTime = generator.every(({ delayMaxMs }) => MAX_DELAY_RATIO * delayMaxMs <= least);
  const isEven = least >= MIN_EVEN_SHARE * most && (latency.sendDelayMs?.max ?? 0) < least / 2;
  const times = batches.map(({ t }) => t);
  const intervalMs = (1000 * (Math.max(...times) - Math.min(...times))) / (batches.length - 1);
  const percent = workerCpuInStage(result, 'broadcasts');
  const cpuMs = ((percent ?? 0) / 100) * intervalMs;
  const idle = percent === undefined ? '' : `, and the workers used ${decimalsText(percent, 0)} % of a core`;
  if (!isTimed || !isOnTime || !isEven || trips.length === 0 || least < MIN_TIMES * tripMs) return undefined;
  if (cpuMs > MAX_CPU_SHARE * least) return undefined;
  return {
    message: `every copy of ${batches.length} broadcasts came at least ${decimalsText(least, 0)} ms after it was sent, where a round trip takes ${withUnit('milliseconds', tripMs)} (median)${idle}: the server or its adapter holds broadcasts back`,
    fix: 'see what every broadcast waits for before the server emits it: a timer, a batch, a slow query, or the adapter and its broker',
    values: [
      ...findingValues({ broadcasts: batches.length }),
      ...findingValues({ 'CPU of the workers': percent }, '%'),
      ...findingValues({ 'shortest time to a copy': least, 'round trip (median)': tripMs }, 'ms'),
    ],
    window: 'broadcasts',
    about: 'deployment',
  };
}

function othersText({ usualMs }: Usual): string {
  return `; the others took ${decimalsText(usualMs, 0)} ms (median)`;
}

function delayValues(late: Timed[], { broadcasts, usualMs }: Usual) {
  const ms = late.map(({ lastMs }) => lastMs);
  const times = { 'shortest delay': Math.min(...ms), 'longest delay': Math.max(...ms), 'usual time (median)': usualMs };
  return [...findingValues({ 'delayed broadcasts': late.length, broadcasts }), ...findingValues(times, 'ms')];
}

/**
 * Returns how many connections received the median delayed broadcast late, and how many connections received it in
 * total.
 */
function receivers(late: Timed[], leastMs: number, { frozen }: Measurements): [slow: number, all: number] {
  const rows = Map.groupBy(frozen, ({ seq }) => seq);
  const counts = late.map(({ seq }) => {
    const all = (rows.get(seq) ?? []).flatMap(({ latencyUs }) => Object.values(latencyUs).map(decodeHistogram));
    return sum(all.flatMap(recordedValuesUs).map(({ valueUs, count }) => (valueUs >= 1000 * leastMs ? count : 0)));
  });
  const [slow = 1, all = 0] = [counts, late.map(({ received }) => received)].map(median);
  return [Math.max(1, slow), all];
}

function rangeText(ms: number[]): string {
  const [low, high] = [Math.min(...ms), Math.max(...ms)].map((one) => decimalsText(one / 1000, 1));
  return low === high ? `${high} s` : `${low} to ${high} s`;
}
