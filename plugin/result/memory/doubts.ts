/**
 * Memory for which a line through the plateaus does not show the cost of connections: it was freed while they stayed, kept after they left,
 * or taken later than they connected. The plateaus follow each other, so growth over time also looks like a cost.
 */
import type { Slope } from '../../../protocol/result/memory-schema.ts';
import { fitLine } from '../../../report/statistics/statistics.ts';
import type { Doubt } from '../../../report/statistics/straightness.ts';
import {
  type Collecting,
  collects,
  hasCleanPages,
  isUnclean,
  type Measurements,
} from '../../run/measurements/measurements.ts';
import type { LayerBytes, Plateau } from '../../run/measurements/memory-measured.ts';
import type { LayerSample, Sampler } from '../../samplers/index.ts';

/** Share of the apparent cost of the connections. */
const MAX_SHARE = 0.2;
const MAX_KEPT_SHARE = 0.6;
/** Readings of an idle deployment differ by as much, as the memory of a sound process moves on its own. */
const NOISE_BYTES = 1024 ** 2;

/** Figures that a collection shows to the byte; a process keeps some pages of freed memory. */
const EXACT = ['workerKept'];
const PROCESS = ['workerRss'];

type Moments = Pick<Measurements, 'plateaus' | 'afterBroadcasts' | 'afterDisconnect'> & Collecting;
type Growing = Omit<Moments, 'afterDisconnect'> & Pick<Measurements, 'stages'>;
type Measured = Moments & Pick<Measurements, 'workersAtStart' | 'fallingAtBaseline'>;

/** @returns by figure; what is known later replaces what was before */
export function doubtsOf(measured: Measured, ofWorkers: string[], growing: string[]): Map<string, Doubt> {
  const held = heldDoubt(measured);
  const of = (figures: string[], doubt: Doubt) => figures.map((figure) => [figure, doubt] as const);
  return new Map<string, Doubt>([
    ...(held === undefined ? [] : of(ofWorkers, held)),
    ...of([...growing, ...steppedFigures(measured, ofWorkers)], 'grows'),
    ...of([...measured.fallingAtBaseline, ...fallenFigures(measured)], 'freed'),
  ]);
}

/**
 * If memory does not follow the connections, the amount per connection differs between connecting, after the broadcasts, and disconnecting.
 * The interval of a doubted slope spans all three.
 */
export function allowingFor<Line extends Omit<Slope, 'naive'>>(
  line: Line,
  measured: Omit<Moments, 'control'>,
  figure: string,
): Line {
  const { low95, high95, doubt } = line;
  if (low95 === null || high95 === null || doubt === undefined || doubt === 'curved') return line;
  const { plateaus, afterBroadcasts, afterDisconnect } = measured;
  const connections = plateaus.at(-1)?.connections || 1;
  const [busy, gone] = [afterBroadcasts, afterDisconnect].map((later) => courseOf(plateaus, later, [figure]));
  const others = [busy && busy.later - busy.before, gone && gone.full - gone.later].flatMap((bytes) =>
    bytes === undefined ? [] : bytes / connections,
  );
  return { ...line, low95: Math.min(low95, ...others), high95: Math.max(high95, ...others) };
}

/** A sum of figures at the baseline, with all connections, and later; undefined where one of them was not read. */
interface Course {
  before: number;
  full: number;
  later: number;
}

function courseOf(plateaus: Plateau[], later: LayerBytes | undefined, figures: string[]) {
  const [before, full, then] = [plateaus[0]?.layers, plateaus.at(-1)?.layers, later].map((layers) =>
    figures.every((figure) => layers?.[figure] !== undefined)
      ? figures.reduce((sum, figure) => sum + (layers?.[figure] ?? 0), 0)
      : undefined,
  );
  if (before === undefined || full === undefined || then === undefined) return undefined;
  return { before, full, later: then };
}

function isMuch(bytes: number, { before, full }: Course, share = MAX_SHARE, noiseBytes = NOISE_BYTES): boolean {
  return bytes > Math.max(noiseBytes, share * (full - before));
}

/**
 * Detects workers whose memory does not follow their connections: much of it was freed while all stayed, or was still there after all had
 * left.
 * @returns the doubt about all figures of the workers; undefined without one, or without collections
 */
export function heldDoubt({ plateaus, afterBroadcasts, afterDisconnect, ...measured }: Moments): Doubt | undefined {
  if (!collects(measured)) return undefined;
  const isFreed = [EXACT, ...(hasCleanPages(measured) ? [PROCESS] : [])].some((figures) => {
    const course = courseOf(plateaus, afterBroadcasts, figures);
    return course && isMuch(course.full - course.later, course);
  });
  if (isFreed) return 'freed';
  const course = courseOf(plateaus, afterDisconnect, EXACT);
  return course && isMuch(course.later - course.before, course, MAX_KEPT_SHARE) ? 'kept' : undefined;
}

/**
 * Detects memory that the workers took in one step, which no slope over the idle time shows: after the broadcasts and a collection, all of
 * them together need more than at the last plateau, without a new connection.
 * @param ofWorkers their figures
 * @returns the figures that rose with it
 */
export function steppedFigures(
  measured: Omit<Measured, 'afterDisconnect' | 'fallingAtBaseline'>,
  ofWorkers: string[],
): string[] {
  const { plateaus, afterBroadcasts, workersAtStart } = measured;
  if (!collects(measured)) return [];
  const hasRisen = (figures: string[], noiseBytes: number) => {
    const course = courseOf(plateaus, afterBroadcasts, figures);
    return course !== undefined && isMuch(course.later - course.full, course, MAX_SHARE, noiseBytes);
  };
  // The code of the broadcasts' way is compiled in each of them.
  if (!hasRisen(EXACT, NOISE_BYTES * Math.max(1, workersAtStart.length))) return [];
  return ofWorkers.filter((figure) => hasRisen([figure], 0));
}

/**
 * Memory that is lower when all have left than at the baseline: the baseline had something that was freed later, so the
 * connections look cheaper than they are.
 * @returns figures; none without a residual
 */
function fallenFigures({ plateaus, afterDisconnect }: Pick<Measured, 'plateaus' | 'afterDisconnect'>): string[] {
  return Object.keys(afterDisconnect ?? {}).filter((figure) => {
    const course = courseOf(plateaus, afterDisconnect, [figure]);
    return course && isMuch(course.before - course.later, course);
  });
}

/**
 * A figure grows if it rises in the samples of the idle time, and a collection after the broadcasts does not take this back:
 * garbage rises, too. The slower of the two rates counts, from the first plateau to the last.
 * @returns figures; none without idle time or broadcasts, which leave nothing to compare
 */
export function growingFigures(measured: Growing, { layers, samples }: Pick<Sampler, 'layers' | 'samples'>): string[] {
  const { stages, plateaus, afterBroadcasts } = measured;
  const at = (name: string) => stages.find((stage) => stage.name === name)?.t;
  const [baseline, hold, broadcasts] = [at('baseline'), at('hold'), at('broadcasts')];
  const end = stages.find(({ name }) => name === 'disconnect' || name === 'end of the run')?.t;
  const [first, last] = [plateaus[0], plateaus.at(-1)];
  const growing: string[] = [];
  if (baseline === undefined || hold === undefined || broadcasts === undefined || end === undefined) return growing;
  // Uncollected garbage looks the same.
  if (!collects(measured) || !first || !last || !afterBroadcasts) return growing;
  const idle = samples.filter(({ t }) => t >= hold && t < broadcasts);
  for (const { id, figures } of layers) {
    for (const { id: figure, measure } of figures) {
      const [before, full, after] = [first.layers[figure], last.layers[figure], afterBroadcasts[figure]];
      if (before === undefined || full === undefined || after === undefined || isUnclean(measured, figure)) continue;
      const line = fitLine(
        idle.flatMap(({ t, [id]: sample }) => {
          const y = sampled(sample, measure);
          return y === undefined ? [] : [{ x: t, y }];
        }),
      );
      if (!line?.low95 || line.low95 <= 0) continue;
      const bytesPerSecond = Math.min(line.slope, (after - full) / (end - hold));
      const share = (bytesPerSecond * (hold - baseline)) / Math.max(1, full - before);
      if (share > MAX_SHARE && after - full > NOISE_BYTES) growing.push(figure);
    }
  }
  return growing;
}

/** @returns what the sample has of the figure; PSS that was not read, as derived from RSS */
export function sampled(sample: LayerSample | undefined, measure: string): number | undefined {
  return sample?.[measure] ?? (measure === 'pssBytes' ? sample?.derivedPssBytes : undefined);
}
