/** Broadcasts that took far longer than the others: percentiles over all copies do not show how these are spread. */
import { decodeHistogram, recordedUs } from '../../../../protocol/base/histogram.ts';
import type { Batch } from '../../../../protocol/result/delivery-schema.ts';
import { median } from '../../../../report/statistics/statistics.ts';
import { decimals, integer } from '../../../../report/text/format.ts';
import { sum } from '../../../result/sums.ts';
import type { Measurements } from '../../../run/measurements/measurements.ts';
import { type Check, checkUnless, type Detail, type Measured } from '../../check.ts';
import { longestDelayMs, MAX_GROWTH } from '../../evidence.ts';
import { valuesOf } from '../../values.ts';
import { stalledServer } from '../server/stalls-checks.ts';
import { mostServers } from './adapter-checks.ts';

const MIN_BROADCASTS = 5;
const MIN_DELAY_MS = 500;
/** Times the usual time to the last receiver. */
const MIN_TIMES = 10;
/** Largest share of the broadcasts that is an exception. */
const MAX_SHARE = 0.5;
/** Copies that waited for the same moment come within it. */
const SAME_MOMENT_SECONDS = 0.1;

interface Timed extends Batch {
  t: number;
  firstMs: number;
  lastMs: number;
}

export const delays: Check[] = [
  checkUnless('abort', 'BROADCASTS_DELAYED', (result, measurements) => {
    const isTimed = (one: Batch): one is Timed => one.t !== null && one.firstMs !== null && one.lastMs !== null;
    const batches = result.delivery?.batches.filter(isTimed) ?? [];
    // A planned fault delays broadcasts, and a server that stood still is another finding.
    if (batches.length < MIN_BROADCASTS || result.fault || stalledServer(result)) return undefined;
    const usualMs = median(batches.map(({ lastMs }) => lastMs)) ?? 0;
    const leastMs = Math.max(MIN_DELAY_MS, MIN_TIMES * usualMs, MAX_GROWTH * longestDelayMs(result));
    const late = batches.filter(({ lastMs }) => lastMs >= leastMs);
    if (late.length === 0 || late.length > MAX_SHARE * batches.length) return undefined;
    const [forAll, forSome] = [late.filter(isForAll), late.filter((one) => !isForAll(one))];
    const others = `; the others took ${decimals(usualMs, 0)} ms (median)`;
    return [
      ...(forAll.length > 0 ? [ofAll(forAll, batches.length, others)] : []),
      ...(forSome.length > 0 ? [ofSome(forSome, batches.length, leastMs, others, result, measurements)] : []),
    ];

    function isForAll({ firstMs }: Timed): boolean {
      return firstMs >= leastMs;
    }
  }),
];

function ofAll(late: Timed[], broadcasts: number, others: string): Detail {
  const range = rangeText(late.map(({ lastMs }) => lastMs));
  return {
    values: delayValues(late),
    message: `${late.length} of ${broadcasts} broadcasts took ${range} for everybody${others}`,
    window: 'broadcasts',
  };
}

function ofSome(
  late: Timed[],
  broadcasts: number,
  leastMs: number,
  others: string,
  result: Measured,
  measurements: Measurements,
): Detail {
  const ends = late.map(({ t, lastMs }) => t + lastMs / 1000);
  const isTogether = late.length > 1 && Math.max(...ends) - Math.min(...ends) <= SAME_MOMENT_SECONDS;
  const who = receiversText(late, leastMs, measurements);
  const longest = Math.max(...late.map(({ lastMs }) => lastMs));
  const servers = mostServers(result, measurements);
  const hasRedis = result.processes?.measured.some(({ layer }) => layer === 'redis');
  const between = hasRedis ? 'Redis (`SLOWLOG GET`, `LATENCY LATEST`)' : 'the adapter and its Redis or broker';
  return {
    values: delayValues(late),
    message: isTogether
      ? `${who} got nothing for ${decimals(longest / 1000, 1)} s, then the copies of ${late.length} broadcasts all at once at ${decimals(Math.max(...ends), 1)} s, while the other connections got them in time${others}`
      : `${late.length} of ${broadcasts} broadcasts took ${rangeText(late.map(({ lastMs }) => lastMs))} to ${who}${others}`,
    window: 'broadcasts',
    ...(servers > 1 && {
      fix: `see what brings messages from one of the ${servers} processes to the others: ${between}; then whether one process itself stood still`,
      about: 'deployment' as const,
    }),
  };
}

function delayValues(late: Timed[]) {
  const longest = Math.max(...late.map(({ lastMs }) => lastMs));
  return [...valuesOf({ 'delayed broadcasts': late.length }), ...valuesOf({ 'longest delay': longest }, 'ms')];
}

/** @returns `30 of 60 connections`: the median broadcast */
function receiversText(late: Timed[], leastMs: number, { frozen }: Measurements): string {
  const rows = Map.groupBy(frozen, ({ seq }) => seq);
  const counts = late.map(({ seq }) => {
    const all = (rows.get(seq) ?? []).flatMap(({ latencyUs }) => Object.values(latencyUs).map(decodeHistogram));
    return sum(all.flatMap(recordedUs).map(({ valueUs, count }) => (valueUs >= 1000 * leastMs ? count : 0)));
  });
  const [slow = 1, all = 0] = [counts, late.map(({ received }) => received)].map(median);
  return `${integer(Math.max(1, slow))} of ${integer(all)} connections`;
}

function rangeText(ms: number[]): string {
  const [low, high] = [Math.min(...ms), Math.max(...ms)].map((one) => decimals(one / 1000, 1));
  return low === high ? `${high} s` : `${low} to ${high} s`;
}
