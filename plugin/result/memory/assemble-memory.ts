/** Builds the figures of the connections' memory: at rest (after a garbage collection) and in service (before it). */
import { describeError } from '../../../protocol/codes/errors.ts';
import type { MemorySlope } from '../../../protocol/result/memory-schema.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { inServicePoints } from '../../../report/figures/in-service.ts';
import { layerFamily } from '../../../report/figures/layers.ts';
import { countProvenLeaks } from '../../../report/figures/memory-leaks.ts';
import { fitPlateaus, type PlateauPoint } from '../../../report/statistics/plateaus.ts';
import type { FitPoint } from '../../../report/statistics/statistics.ts';
import { isCurvedSeries, type SlopeDoubt } from '../../../report/statistics/straightness.ts';
import { canForceCollections, forcesCollections } from '../../run/measurements/collecting.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import type { LayerBytes, Plateau } from '../../run/measurements/memory-measured.ts';
import { WRONG_ADDRESSES, WRONG_COUNTS } from '../../run/measurements/observations.ts';
import { withoutFigures } from '../../run/memory/at-rest.ts';
import { absencesOfReadings, describeLayers, type Sampler, sourcesOfReadings } from '../../samplers/index.ts';
import { unknownWorkers } from '../assemble-workers.ts';
import { reusedFigures, withoutImpossibleMemory } from '../invariants/invariants.ts';
import { memoryCodePlaces } from '../places/memory-places.ts';
import { growingFigures, layerBytesDifference, memoryDoubts, sampledFigure, widenForDoubt } from './doubts.ts';
import { overTimeFigures } from './drift.ts';

type Sampled = Pick<Sampler, 'layers' | 'samples'> & Partial<Pick<Sampler, 'workers'>>;
type Memory = Result['memory'];

const UNCOLLECTED = 'at rest: a worker made no garbage collection when the run asked for it';

export function memoryFigures(given: Measurements, sampled: Sampled): Memory {
  const { possible: measurements, absent: impossible } = withoutImpossibleMemory(given);
  const { plateaus, afterBroadcasts, inServiceAfterBroadcasts, afterDisconnect, overTime } = measurements;
  const { peakConnections, inspectors, lastReadings, uncollected } = measurements;
  const collected = forcesCollections(measurements);
  const baseline = plateaus[0]?.layers ?? {};
  const moments = [...(overTime?.peaks ?? []), ...(overTime?.readings.rows ?? [])].map(({ layers }) => layers);
  const readings = [...plateaus.flatMap(({ layers, inService }) => [layers, inService ?? {}]), ...moments];
  const last = [afterBroadcasts ?? {}, inServiceAfterBroadcasts ?? {}];
  const peakBytes = withoutFigures(peaksOf(measurements, sampled, [...readings, ...last]), Object.keys(impossible));
  const ofWorkers = (sampled.layers.find(({ id }) => id === 'worker')?.figures ?? []).map(({ id }) => id);
  const doubts = memoryDoubts(measurements, ofWorkers, growingFigures(measurements, sampled));
  for (const figure of reusedFigures(measurements)) doubts.set(figure, 'reused');
  const found = Math.max(sampled.workers?.().length ?? 0, measurements.workersAtStart.length);
  // Processes that only start the server are left out.
  const processes = Math.max(1, inspectors?.size ?? found);
  const perConnectionBytes: Record<string, MemorySlope> = {};
  for (const layer of inAll(plateaus.map(({ layers }) => layers))) {
    const rise = (peakBytes[layer] ?? 0) - (baseline[layer] ?? 0);
    const naive = peakConnections > 0 ? rise / peakConnections : 0;
    const points = withoutBaseline(plateaus).map((plateau) => pointOf(plateau, layer));
    const slope = withoutCode(slopeOf(points, doubts.get(layer)), withoutBaseline(plateaus), layer, doubts);
    if (!slope) continue;
    const line = widenForDoubt(slope, measurements, layer);
    const isCollected = collected || !ofWorkers.includes(layer);
    const allow = line.doubt === 'reused' ? withinFreePages : isCollected ? undefined : widenForGarbage;
    perConnectionBytes[layer] = { ...(allow?.(line, points, processes) ?? line), naive };
  }
  const places = memoryCodePlaces(measurements);
  const { heapProfiles } = measurements;
  const memory: Memory = {
    layers: describeLayers(sampled.layers),
    collected,
    ...(inspectors && { inspector: inspectorOf(inspectors) }),
    ...(places && { places }),
    perConnectionBytes,
    // The memory per connection is computed from the other memory figures, so it is set later.
    perConnection: null,
    inService: inServiceFigures(measurements, sampled, doubts, processes),
    // The balance is computed from the memory of other programs, so it is set later.
    balance: null,
    peakBytes,
    // Without garbage collections, garbage would look like memory that connections left behind.
    residualBytes:
      afterDisconnect && canForceCollections(measurements) ? layerBytesDifference(afterDisconnect, baseline) : {},
    plateaus: plateaus.map(({ connections, layers: bytes }) => ({ connections, ...bytes })),
    // The leaks are computed from the memory figures over time, so they are set later.
    leaks: null,
    overTime: overTimeFigures(measurements, Object.keys(impossible), sampled.layers),
    sources: sourcesOfReadings(lastReadings),
    absent: {
      ...absencesOfReadings(lastReadings),
      ...Object.fromEntries(uncollected.map((figure) => [figure, UNCOLLECTED])),
      ...impossible,
      ...(heapProfiles instanceof Error && { placesOfAllocation: describeError(heapProfiles).split('\n')[0] }),
    },
  };
  return { ...memory, leaks: countProvenLeaks({ memory }) };
}

function inspectorOf({ size, longestPauseMs, runtime }: NonNullable<Measurements['inspectors']>): Memory['inspector'] {
  return { processes: size, longestPauseMs, runtime };
}

/**
 * Returns memory in service (before a garbage collection); null if a plateau was not read before its garbage
 * collection.
 */
function inServiceFigures(
  measurements: Measurements,
  sampled: Sampled,
  doubts: Map<string, SlopeDoubt>,
  processes: number,
): Memory['inService'] {
  const { plateaus, inServiceAfterBroadcasts } = measurements;
  const readings = plateaus.map(({ inService }) => inService).filter((reading) => reading !== undefined);
  if (readings.length === 0 || readings.length < plateaus.length) return null;
  const atWork = { ...sampled, samples: samplesAtWork(measurements, sampled) };
  const peakBytes = peaksOf(measurements, atWork, [inServiceAfterBroadcasts ?? {}]);
  const before = plateaus.map(({ connections, inService }) => ({ connections, ...inService }));
  const inService = { peakBytes, plateaus: before };
  const atRest = plateaus.map(({ connections, layers }) => ({ connections, ...layers }));
  const garbageBytes = YOUNG_BYTES * processes;
  const slopes = inAll([...readings, ...atRest]).flatMap((layer) => {
    const noiseBytes = layerFamily(layer) === 'worker' ? garbageBytes : 0;
    const slope = slopeOf(inServicePoints({ plateaus: atRest, inService }, layer), doubts.get(layer), noiseBytes);
    // The slope depends on the peak, which was observed only once, so its noise is unknown.
    return slope ? [[layer, { ...slope, low95: null, high95: null }] as const] : [];
  });
  return { perConnectionBytes: Object.fromEntries(slopes), ...inService };
}

/** Number of plateaus that are enough for a line, without the baseline. */
const ENOUGH_PLATEAUS = 4;

/**
 * Removes the baseline if there are enough other plateaus. The first connections of a run use free memory that earlier
 * connections left in the proxy, the kernel and the processes, so a line through the baseline would be too flat.
 */
export function withoutBaseline<T extends Pick<Plateau, 'connections'>>(plateaus: T[]): T[] {
  const others = plateaus.filter(({ connections }) => connections > 0);
  return others.length < ENOUGH_PLATEAUS ? plateaus : others;
}

function pointOf({ connections, layers, readings = [] }: Plateau, layer: string): PlateauPoint {
  const [y, n] = [layers[layer] as number, readings.length];
  if (n < 2) return { x: connections, y };
  const squares = readings.reduce((sum, { [layer]: bytes = y }) => sum + (bytes - y) ** 2, 0);
  return { x: connections, y, variance: squares / (n - 1) / n };
}

const CODE = 'workerCode';
/** Figures that include compiled code. */
const WITH_CODE = ['workerKept', 'workerHeapUsed'];

type Slope = Omit<MemorySlope, 'naive'>;

/**
 * Takes compiled code out of the slope of V8's count. V8 compiles functions while the first thousands of connections
 * open, and at their first heartbeats, but once for all connections. Measured on a small server: 0.3 MB during the
 * first 400 connections. The interval spans the slopes with and without the code, because a server can also compile
 * code for each connection.
 */
function withoutCode(
  slope: Slope | null,
  plateaus: Plateau[],
  layer: string,
  doubts: Map<string, SlopeDoubt>,
): Slope | null {
  if (!slope || !WITH_CODE.includes(layer) || !plateaus.every(({ layers }) => CODE in layers)) return slope;
  const lessCode = (bytes: LayerBytes) => ({ [layer]: (bytes[layer] ?? 0) - (bytes[CODE] ?? 0) });
  const points = plateaus.map(({ connections, layers, readings = [] }) =>
    pointOf({ connections, layers: lessCode(layers), readings: readings.map(lessCode) }, layer),
  );
  const line = slopeOf(points, doubts.get(layer));
  if (!line || line.low95 === null || slope.low95 === null) return line;
  return {
    ...line,
    low95: Math.min(line.low95, slope.low95),
    high95: Math.max(line.high95 as number, slope.high95 as number),
  };
}

/**
 * Fits a line through the plateaus.
 * @param noiseBytes largest curvature that garbage can cause
 */
function slopeOf(points: PlateauPoint[], doubtOfRun: SlopeDoubt | undefined, noiseBytes = 0): Slope | null {
  const line = fitPlateaus(points);
  if (!line) return null;
  const { slope, low95, high95, r2 } = line;
  const doubt = doubtOfRun ?? (isCurvedSeries(points, noiseBytes) ? 'curved' : undefined);
  return { slope, low95, high95, r2, ...(doubt !== undefined && { doubt }) };
}

const WORK = ['hold', 'broadcasts', 'drain'];

/** Returns the samples during the hold, the broadcasts and the drain. */
function samplesAtWork({ stages }: Measurements, { samples }: Sampled): Sampled['samples'] {
  return samples.filter(({ t }) => {
    const stage = stages.findLast((one) => one.t <= t);
    return stage !== undefined && WORK.includes(stage.name);
  });
}

/** Returns the ids of the memory figures that every reading contains. */
function inAll(readings: LayerBytes[]): string[] {
  return Object.keys(readings[0] ?? {}).filter((layer) => readings.every((reading) => layer in reading));
}

/**
 * Returns the highest value of each memory figure. If the time series contains the figure, peaks between the readings
 * count, too.
 */
function peaksOf({ sharedHost }: Measurements, { layers, samples }: Sampled, readings: LayerBytes[]): LayerBytes {
  const peak: LayerBytes = {};
  const raise = (figure: string, bytes: number | undefined) => {
    if (bytes !== undefined) peak[figure] = Math.max(bytes, peak[figure] ?? bytes);
  };
  for (const reading of readings) {
    for (const [figure, bytes] of Object.entries(reading)) raise(figure, bytes);
  }
  for (const { id, belongsTo, figures } of layers) {
    // The figures of a machine without workers do not describe the workers.
    if (belongsTo === 'machine' && !sharedHost) continue;
    for (const { id: figure, measure } of figures) {
      for (const { [id]: sample } of samples) raise(figure, sampledFigure(sample, measure));
    }
  }
  return peak;
}

/** Returns the memory figures. If connection counts of the run are wrong, each slope is marked as doubtful. */
export function doubtMiscountedSlopes(memory: Memory, measurements: Measurements): Memory {
  const isWrong = measurements.observations.has(...WRONG_COUNTS, ...WRONG_ADDRESSES);
  if (!isWrong && Object.keys(unknownWorkers(measurements)).length === 0) return memory;
  const { perConnectionBytes, inService } = memory;
  return {
    ...memory,
    perConnectionBytes: doubted(perConnectionBytes),
    inService: inService && { ...inService, perConnectionBytes: doubted(inService.perConnectionBytes) },
  };
}

function doubted<S extends object>(slopes: Record<string, S>): Record<string, S & { doubt: 'miscounted' }> {
  const all = Object.entries(slopes).map(([layer, slope]) => [layer, { ...slope, doubt: 'miscounted' }]);
  return Object.fromEntries(all);
}

/**
 * One megabyte. Two errors below affect all plateaus equally: free pages (`FREE_BYTES`), and the growth of V8's heap
 * without collections (`YOUNG_BYTES`). The confidence interval of a line does not include these errors.
 */
const MB = 1024 ** 2;
/**
 * Size of the free memory pages that one Node process has after its start and the warm-up. The first connections use
 * them, so RSS rises by too little. Measured on unmodified servers with 100 to 400 connections: 0.8 to 1.6 MB.
 */
const FREE_BYTES = 4 * MB;
/**
 * Size to which V8's young generation grows once: two semi-spaces of 16 MB. RSS rises by too much meanwhile. Measured
 * with 100 to 400 connections: up to 17 MB.
 */
const YOUNG_BYTES = 32 * MB;
/**
 * Returns the slope of a process whose memory did not rise. Its upper limit follows from the free memory that the
 * process may have had.
 */
function withinFreePages<Line extends Omit<MemorySlope, 'naive'>>(
  line: Line,
  points: FitPoint[],
  processes: number,
): Line {
  const connections = Math.max(1, ...points.map(({ x }) => x));
  return { ...line, low95: 0, high95: Math.max(line.slope, 0) + (FREE_BYTES * processes) / connections };
}

/**
 * Widens the interval of a slope by the errors `FREE_BYTES` and `YOUNG_BYTES`. With many connections, both errors are
 * small.
 */
export function widenForGarbage<Line extends Omit<MemorySlope, 'naive'>>(
  line: Line,
  points: FitPoint[],
  processes: number,
): Line {
  const { low95, high95 } = line;
  const xs = points.map(({ x }) => x);
  const connections = Math.max(...xs) - Math.min(...xs);
  if (low95 === null || high95 === null || connections === 0) return line;
  const per = processes / connections;
  return { ...line, low95: low95 - YOUNG_BYTES * per, high95: high95 + FREE_BYTES * per };
}
