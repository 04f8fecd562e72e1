/**
 * Coverage of the intervals of latencies. Tested with broadcasts of a real server, and with random latencies for cases
 * that need too many broadcasts.
 */
import { latencyIntervalFigures, reachedBroadcasts } from '../../../plugin/result/delivery/intervals.ts';
import type { FrozenBroadcast } from '../../../protocol/link/ledger-messages.ts';
import { clusterIntervals, type ValueCluster } from '../../../report/statistics/quantile-intervals.ts';
import { percentilesByRank } from '../calibrate-latency.ts';
import { joinClients, pinToSeparateCores, publishAndFinalize, withCalibrationSetup } from '../calibration-setup.ts';
import type { CalibrationSection, TruthComparison } from '../comparison.ts';
import type { SentCopy } from '../known-server.ts';
import { compareCoverage, intervalFrom, randomNormal } from './coverage.ts';

/** Size of the test with a server. `BROADCASTS` is the number of broadcasts per repeat. */
const [REPEATS, RECEIVERS, BROADCASTS] = [100, 20, 10];
/** Number of repeats with random latencies: with few broadcasts, and with enough broadcasts for a p99. */
const [REPEATS_OF_FEW, REPEATS_OF_MANY] = [500, 200];

type Figures = NonNullable<ReturnType<typeof latencyIntervalFigures>['intervals']>;

const INTERVAL_MS = 40;
/**
 * Mean of the delay that all copies of a broadcast share, and maximum of the delay of a single copy, in milliseconds.
 */
const SHARED_MS = 12;
const OWN_MS = 10;

export async function latencyIntervalCoverage(): Promise<CalibrationSection> {
  return {
    title: 'Intervals of latencies',
    text:
      'How often a 95 % interval contains the true percentile, that of all repeats together. A server delays all copies of a ' +
      'broadcast by the same exponentially distributed time.',
    rows: [
      ...(await serverRows()),
      ...randomRows(REPEATS_OF_FEW, 6, ['even', 'skewed', 'one in ten slow', 'nothing shared']),
      ...randomRows(REPEATS_OF_FEW, 20, ['even', 'skewed', 'one in ten slow', 'nothing shared']),
      ...randomRows(REPEATS_OF_MANY, 400, ['skewed', 'one in ten slow']),
    ],
  };
}

/**
 * Measures with a real server. The percentiles of all repeats together serve as true values; they are ten times more
 * precise than those of a single repeat.
 */
async function serverRows(): Promise<TruthComparison[]> {
  return withCalibrationSetup({ sharedDelayMs: SHARED_MS, delaysMs: [[0, OWN_MS]] }, async (setup) => {
    await joinClients(setup.fleet, RECEIVERS);
    await pinToSeparateCores(setup);
    const count = REPEATS * BROADCASTS;
    const { frozen } = await publishAndFinalize(setup, { count, intervalMs: INTERVAL_MS, receipts: count * RECEIVERS });
    const { copies } = await setup.server.truth();
    const figures = chunks(frozen, BROADCASTS).map(intervalsOf);
    const oneWay = percentilesByRank(copies.map(({ afterUs }) => afterUs / 1000));
    const completion = percentilesByRank([...lastOf(copies).values()].map((us) => us / 1000));
    const what = `${BROADCASTS} broadcasts of a server`;
    const latencies = figures.map(({ oneWayMs }) => intervalFrom(oneWayMs.p50));
    const completions = figures.map(({ completionMs }) => intervalFrom(completionMs.p50));
    return [
      compareCoverage(`${what}: latency, p50`, oneWay.p50, latencies),
      compareCoverage(`${what}: completion, p50`, completion.p50, completions),
    ];
  });
}

/** Divides the broadcasts into chunks, in order. */
function chunks(frozen: FrozenBroadcast[], size: number): FrozenBroadcast[][] {
  const sorted = frozen.toSorted((a, b) => a.seq - b.seq);
  return Array.from({ length: sorted.length / size }, (_, index) => sorted.slice(index * size, (index + 1) * size));
}

function lastOf(copies: SentCopy[]): Map<number, number> {
  const last = new Map<number, number>();
  for (const { seq, afterUs } of copies) last.set(seq, Math.max(last.get(seq) ?? 0, afterUs));
  return last;
}

/** Random parts of a latency in ms: a part that all copies of a broadcast share, and a part of each copy. */
interface Shape {
  shared: () => number;
  own: () => number;
}

const QUANTILES = [0.5, 0.99];
const SHAPES = {
  even: { shared: () => 20 * Math.random(), own: () => 10 * Math.random() },
  skewed: { shared: () => 10 * Math.exp(0.8 * randomNormal()), own: () => exponential(5) },
  'one in ten slow': { shared: () => (Math.random() < 0.1 ? 100 : 10), own: () => exponential(5) },
  'nothing shared': { shared: () => 10, own: () => exponential(5) },
} satisfies Record<string, Shape>;
const DRAWN_COPIES = 20;
/**
 * Number of broadcasts for the true percentiles. They are ten times more precise than those of a repeat with 400
 * broadcasts.
 */
const POPULATION = 40_000;

/** Tests the estimator on random latencies, without a server. */
function randomRows(repeats: number, count: number, names: (keyof typeof SHAPES)[]): TruthComparison[] {
  return names.flatMap((name) => {
    const shape = SHAPES[name];
    const population = Array.from({ length: POPULATION }, () => randomBroadcast(shape));
    const samples = Array.from({ length: repeats }, () => Array.from({ length: count }, () => randomBroadcast(shape)));
    const rows = (what: string, of: (copies: number[]) => number[]) => {
      const all = Float64Array.from(population.flatMap(of)).sort();
      return QUANTILES.flatMap((quantile, index) => {
        const intervals = samples.map(
          (broadcasts) => clusterIntervals(broadcasts.map(of).map(clusterOf), QUANTILES)[index],
        );
        const truth = all[Math.ceil(quantile * all.length) - 1] as number;
        return intervals.includes(null)
          ? []
          : [compareCoverage(`${count} drawn broadcasts, ${name}: ${what}, p${100 * quantile}`, truth, intervals)];
      });
    };
    return [...rows('latency', (copies) => copies), ...rows('completion', (copies) => [Math.max(...copies)])];
  });
}

function randomBroadcast({ shared, own }: Shape): number[] {
  const all = shared();
  return Array.from({ length: DRAWN_COPIES }, () => all + own());
}

function clusterOf(latenciesMs: number[]): ValueCluster {
  return latenciesMs.map((value) => ({ value, count: 1 }));
}

function intervalsOf(frozen: FrozenBroadcast[]): Figures {
  const { intervals } = latencyIntervalFigures(reachedBroadcasts(frozen));
  if (!intervals) throw new Error('no broadcast reached anybody');
  return intervals;
}

function exponential(mean: number): number {
  return -mean * Math.log(1 - Math.random());
}
