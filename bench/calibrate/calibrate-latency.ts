/** Calibrates the latency of each receiver. The server delays copies by a known time. */
import { latencyFigures } from '../../plugin/result/delivery/assemble-latency.ts';
import { decodeHistogram, mergeHistograms } from '../../protocol/base/histogram.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { Summary } from '../../protocol/result/shared-schemas.ts';
import { joinClients, pinToSeparateCores, publishAndFinalize, withCalibrationSetup } from './calibration-setup.ts';
import {
  type CalibrationSection,
  compareExactly,
  compareWithin,
  type ErrorBound,
  type TruthComparison,
  valueOrInfinity,
} from './comparison.ts';
import type { SentCopy } from './known-server.ts';

interface LatencySize {
  receivers: number;
  broadcasts: number;
  cases: (keyof typeof CASES)[];
  bound: ErrorBound;
}

const CASES = { uniform, byWorker };
const INTERVAL_MS = 300;
/** Number of broadcasts that are left out, because code on both sides is not compiled yet. */
const WARM_UP = 3;

export async function calibrateLatency(size: LatencySize): Promise<CalibrationSection> {
  const rows: TruthComparison[] = [];
  for (const name of size.cases) rows.push(...(await CASES[name](size)));
  return {
    title: 'Latency of every receiver',
    text: `The server delays each copy and records the actual time, which is the true value. The first ${WARM_UP} broadcasts do not count.`,
    rows,
  };
}

async function uniform(size: LatencySize): Promise<TruthComparison[]> {
  const { figures, copies } = await measure(size, [[0, 200]]);
  return rows('uniform 0–200 ms', copies, figures.oneWayMs, p99OfCopies(figures), size.bound);
}

async function byWorker(size: LatencySize): Promise<TruthComparison[]> {
  const { figures, copies } = await measure(size, [
    [10, 10],
    [100, 100],
  ]);
  const local = copies.filter(({ worker, publisher }) => worker === publisher);
  const cross = copies.filter(({ worker, publisher }) => worker !== publisher);
  const [localP99, crossP99] = ['oneWayLocal', 'oneWayCrossWorker'].map((key) => p99OfCopies(figures, [key]));
  return [
    ...rows("the publisher's worker, 10 ms", local, figures.localMs, valueOrInfinity(localP99), size.bound),
    ...rows('the other worker, 100 ms', cross, figures.crossWorkerMs, valueOrInfinity(crossP99), size.bound),
  ];
}

async function measure({ receivers, broadcasts }: LatencySize, delaysMs: [number, number][]) {
  return withCalibrationSetup({ delaysMs }, async (setup) => {
    await joinClients(setup.fleet, receivers);
    await pinToSeparateCores(setup);
    const count = broadcasts + WARM_UP;
    const measurements = await publishAndFinalize(setup, {
      count,
      intervalMs: INTERVAL_MS,
      receipts: count * receivers,
    });
    measurements.frozen = measurements.frozen.filter(({ seq }) => seq > WARM_UP);
    const { copies } = await setup.server.truth();
    return { figures: latencyFigures(measurements), copies: copies.filter(({ seq }) => seq > WARM_UP) };
  });
}

function rows(
  what: string,
  copies: SentCopy[],
  measured: Summary | null,
  p99: number,
  bound: ErrorBound,
): TruthComparison[] {
  const afterUs = copies.map((copy) => copy.afterUs);
  return [
    compareExactly(`${what}: receipts`, copies.length, valueOrInfinity(measured?.count)),
    ...distributed(what, afterUs, measured && { ...measured, p99 }, bound),
  ];
}

/** Returns percentiles by nearest rank; NaN without values. */
export function percentilesByRank(values: number[]) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) };
}

/** Returns rows that compare percentiles of the true times (in µs) with percentiles of the measured times (in ms). */
function distributed(
  what: string,
  truthUs: number[],
  measured: Partial<Record<'p50' | 'p99' | 'max', number | null>> | null,
  bound: ErrorBound,
): TruthComparison[] {
  const truth = percentilesByRank(truthUs.map((us) => us / 1000));
  return (['p50', 'p99', 'max'] as const).map((key) =>
    compareWithin(`${what}: ${key}`, 'ms', truth[key], valueOrInfinity(measured?.[key]), bound),
  );
}

/**
 * Returns the p99 of all copies in ms. It is computed from the histograms, because a result with few broadcasts has no
 * p99.
 * @param keys keys of the histograms
 */
function p99OfCopies({ histograms }: Result['latency'], keys = ['oneWayLocal', 'oneWayCrossWorker']): number {
  const decoded = keys.map((key) => decodeHistogram(histograms[key] ?? ''));
  return mergeHistograms(decoded).getValueAtPercentile(99) / 1000;
}
