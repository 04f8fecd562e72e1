/**
 * Finds doubts (reasons to distrust a figure) about memory figures whose line through the plateaus does not show the
 * memory of connections: memory was freed while connections stayed open, was kept after they closed, or grew without
 * new connections. Plateaus are measured one after the other, so growth over time looks like memory of connections.
 */
import type { MemorySlope } from '../../../protocol/result/memory-schema.ts';
import { PAGE_NOISE_BYTES, WORKER_LAYERS } from '../../../report/figures/layers.ts';
import { fitLine } from '../../../report/statistics/statistics.ts';
import type { SlopeDoubt } from '../../../report/statistics/straightness.ts';
import {
  type CollectionContext,
  forcesCollections,
  hasCleanPages,
  includesGarbage,
  minWorkerProcesses,
} from '../../run/measurements/collecting.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import type { LayerBytes, Plateau } from '../../run/measurements/memory-measured.ts';
import type { LayerSample, Sampler } from '../../samplers/index.ts';

/** Maximum share of the connections' memory that may change without new connections. */
const MAX_SHARE = 0.2;
const MAX_KEPT_SHARE = 0.6;
/** Maximum difference between memory readings of an idle deployment, in bytes. */
const NOISE_BYTES = 1024 ** 2;

/**
 * Id of the figure that is exact to the byte after a garbage collection. Other figures include freed memory whose pages
 * the process keeps.
 */
const EXACT = 'workerKept';
const PROCESS = 'workerRss';
/** Figures of memory that the workers keep, without the noise of pages. */
const KEPT = [EXACT, 'workerMalloc'];

type Moments = Pick<Measurements, 'plateaus' | 'afterBroadcasts' | 'afterDisconnect' | 'workersAtStart'> &
  CollectionContext;
type Processes = Parameters<typeof minWorkerProcesses>[0];
type Growing = Omit<Moments, 'afterDisconnect'> & Pick<Measurements, 'stages'>;
type Measured = Moments & Pick<Measurements, 'fallingAtBaseline'>;

/**
 * Returns why memory figures are doubtful, by figure. If a figure has several reasons, the last in this order is used.
 */
export function memoryDoubts(measured: Measured, ofWorkers: string[], growing: string[]): Map<string, SlopeDoubt> {
  const held = heldMemoryDoubt(measured);
  const of = (figures: string[], doubt: SlopeDoubt) => figures.map((figure) => [figure, doubt] as const);
  return new Map<string, SlopeDoubt>([
    ...(held === undefined ? [] : of(ofWorkers, held)),
    ...of([...growing, ...steppedFigures(measured, ofWorkers)], 'grows'),
    ...of([...measured.fallingAtBaseline, ...fallenFigures(measured), ...returnedPages(measured)], 'freed'),
  ]);
}

/**
 * Widens the interval of a doubtful slope. Memory per connection is also computed from the change after the broadcasts
 * and after the disconnect, and the interval includes all three values.
 */
export function widenForDoubt<Line extends Omit<MemorySlope, 'naive'>>(
  line: Line,
  measured: Omit<Moments, 'control'>,
  figure: string,
): Line {
  const { low95, high95, doubt } = line;
  if (low95 === null || high95 === null || doubt === undefined || doubt === 'curved') return line;
  const { plateaus, afterBroadcasts, afterDisconnect } = measured;
  const connections = plateaus.at(-1)?.connections || 1;
  const [busy, gone] = [afterBroadcasts, afterDisconnect].map((later) => courseOf(plateaus, later, figure));
  const others = [busy && busy.later - busy.before, gone && gone.full - gone.later].flatMap((bytes) =>
    bytes === undefined ? [] : bytes / connections,
  );
  return { ...line, low95: Math.min(low95, ...others), high95: Math.max(high95, ...others) };
}

/** Values of a figure at the baseline, with all connections, and at a later time. */
interface Course {
  before: number;
  full: number;
  later: number;
}

/** Returns the figure at the three times; undefined if one reading is missing. */
function courseOf(plateaus: Plateau[], layers: LayerBytes | undefined, figure: string): Course | undefined {
  const [before, full, later] = [plateaus[0]?.layers, plateaus.at(-1)?.layers, layers].map((one) => one?.[figure]);
  if (before === undefined || full === undefined || later === undefined) return undefined;
  return { before, full, later };
}

/**
 * Returns the largest change of a figure that counts as noise. If the workers' exact figures did not change, the noise
 * of their memory pages is larger.
 * @param changes changes of all figures in the same time
 */
function noiseOf(figure: string, changes: LayerBytes, measured: Processes): number {
  const kept = WORKER_LAYERS.some((id) => id === figure) ? KEPT.flatMap((id) => changes[id] ?? []) : [];
  const isAlone = kept.length > 0 && kept.every((bytes) => bytes <= NOISE_BYTES);
  return isAlone ? PAGE_NOISE_BYTES * minWorkerProcesses(measured) : NOISE_BYTES;
}

/** Returns the difference of each memory figure that both readings contain. */
export function layerBytesDifference(after: LayerBytes, before: LayerBytes): LayerBytes {
  const shared = Object.entries(after).filter(([layer]) => layer in before);
  return Object.fromEntries(shared.map(([layer, bytes]) => [layer, bytes - (before[layer] as number)]));
}

function isMuch(bytes: number, { before, full }: Course, share = MAX_SHARE, noiseBytes = NOISE_BYTES): boolean {
  return bytes > Math.max(noiseBytes, share * (full - before));
}

/**
 * Detects workers whose memory does not follow their connections: much memory was freed while all connections stayed
 * open, or remained after all had closed.
 * @returns why all memory figures of the workers are doubtful; undefined if they are not, or if the run forced no
 * garbage collections
 */
export function heldMemoryDoubt(measured: Moments): SlopeDoubt | undefined {
  const { plateaus, afterBroadcasts, afterDisconnect } = measured;
  if (!forcesCollections(measured)) return undefined;
  const freed = layerBytesDifference(plateaus.at(-1)?.layers ?? {}, afterBroadcasts ?? {});
  const isFreed = [EXACT, ...(hasCleanPages(measured) ? [PROCESS] : [])].some((figure) => {
    const course = courseOf(plateaus, afterBroadcasts, figure);
    return course && isMuch(course.full - course.later, course, MAX_SHARE, noiseOf(figure, freed, measured));
  });
  if (isFreed) return 'freed';
  const course = courseOf(plateaus, afterDisconnect, EXACT);
  return course && isMuch(course.later - course.before, course, MAX_KEPT_SHARE) ? 'kept' : undefined;
}

/**
 * Detects memory that the workers took in one step: after the broadcasts and a garbage collection, they need more than
 * at the last plateau, although no connection opened. A slope over the idle time does not show such a step.
 * @param ofWorkers the workers' figures
 * @returns the figures that rose in this step
 */
export function steppedFigures(measured: Omit<Moments, 'afterDisconnect'>, ofWorkers: string[]): string[] {
  const { plateaus, afterBroadcasts, workersAtStart } = measured;
  if (!forcesCollections(measured)) return [];
  const hasRisen = (figure: string, noiseBytes: number) => {
    const course = courseOf(plateaus, afterBroadcasts, figure);
    return course !== undefined && isMuch(course.later - course.full, course, MAX_SHARE, noiseBytes);
  };
  // Each worker compiles the code that broadcasts use, which also takes memory.
  if (!hasRisen(EXACT, NOISE_BYTES * Math.max(1, workersAtStart.length))) return [];
  return ofWorkers.filter((figure) => hasRisen(figure, 0));
}

/**
 * Finds memory figures that are lower after all connections have closed than at the baseline. Some memory of the
 * baseline was freed later, so connections appear cheaper than they are.
 * @returns the figures; empty if memory was not read after the disconnect
 */
function fallenFigures({ plateaus, afterDisconnect }: Pick<Measured, 'plateaus' | 'afterDisconnect'>): string[] {
  return Object.keys(afterDisconnect ?? {}).filter((figure) => {
    const course = courseOf(plateaus, afterDisconnect, figure);
    return course && isMuch(course.before - course.later, course);
  });
}

/**
 * Size of the free pages into which V8's heap can grow without a rise of RSS. After a garbage collection that returns
 * pages, there are few; otherwise, they can have the size of the young generation.
 */
const FREE_BYTES = { collected: 4 * NOISE_BYTES, uncollected: 64 * NOISE_BYTES };

/**
 * Returns the figures that include memory pages, if the heap grew by more than RSS. RSS includes the heap, so the
 * process must have returned other pages in the same time.
 */
function returnedPages(measured: Omit<Moments, 'afterDisconnect'>): string[] {
  const [first, ...later] = hasCleanPages(measured) ? measured.plateaus : [];
  const free =
    minWorkerProcesses(measured) * (forcesCollections(measured) ? FREE_BYTES.collected : FREE_BYTES.uncollected);
  const isReturned = later.some(({ layers }) => {
    const { workerHeapUsed: heap, workerRss: rss } = layerBytesDifference(layers, first?.layers ?? {});
    return heap !== undefined && rss !== undefined && heap - rss > free;
  });
  return isReturned ? [...WORKER_LAYERS] : [];
}

/**
 * Finds memory figures that grow without new connections: they rise in the samples of the idle time, and a garbage
 * collection after the broadcasts does not reduce them, as it would reduce garbage. The growth per second is the lower
 * of both observations, and is applied to the time from the first plateau to the last.
 * @returns the figures; empty without idle time or broadcasts
 */
export function growingFigures(measured: Growing, { layers, samples }: Pick<Sampler, 'layers' | 'samples'>): string[] {
  const { stages, plateaus, afterBroadcasts } = measured;
  const at = (name: string) => stages.find((stage) => stage.name === name)?.t;
  const [baseline, hold, broadcasts] = [at('baseline'), at('hold'), at('broadcasts')];
  const end = stages.find(({ name }) => name === 'disconnect' || name === 'end of the run')?.t;
  const [first, last] = [plateaus[0], plateaus.at(-1)];
  const growing: string[] = [];
  if (baseline === undefined || hold === undefined || broadcasts === undefined || end === undefined) return growing;
  // Without garbage collections, uncollected garbage would look like growing memory.
  if (!forcesCollections(measured) || !first || !last || !afterBroadcasts) return growing;
  const grown = layerBytesDifference(afterBroadcasts, last.layers);
  const idle = samples.filter(({ t }) => t >= hold && t < broadcasts);
  for (const { id, figures } of layers) {
    for (const { id: figure, measure } of figures) {
      const [before, full, after] = [first.layers[figure], last.layers[figure], afterBroadcasts[figure]];
      if (before === undefined || full === undefined || after === undefined || includesGarbage(measured, figure))
        continue;
      const line = fitLine(
        idle.flatMap(({ t, [id]: sample }) => {
          const y = sampledFigure(sample, measure);
          return y === undefined ? [] : [{ x: t, y }];
        }),
      );
      if (!line?.low95 || line.low95 <= 0) continue;
      const bytesPerSecond = Math.min(line.slope, (after - full) / (end - hold));
      const share = (bytesPerSecond * (hold - baseline)) / Math.max(1, full - before);
      if (share > MAX_SHARE && after - full > noiseOf(figure, grown, measured)) growing.push(figure);
    }
  }
  return growing;
}

/** Returns a memory figure of the sample. If PSS was not read, returns its estimate from RSS. */
export function sampledFigure(sample: LayerSample | undefined, measure: string): number | undefined {
  return sample?.[measure] ?? (measure === 'pssBytes' ? sample?.derivedPssBytes : undefined);
}
