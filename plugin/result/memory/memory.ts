/** What the connections cost in memory: at rest, and in service. */

import type { Slope } from '../../../protocol/result/memory.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { inServicePoints } from '../../../report/figures/in-service.ts';
import { fitPlateaus, type PlateauPoint } from '../../../report/statistics/plateaus.ts';
import { type Doubt, isCurved } from '../../../report/statistics/straightness.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import type { LayerBytes, Plateau } from '../../run/measurements/memory.ts';
import { describeLayers, type Sampler } from '../../samplers/index.ts';
import { allowingFor, doubtsOf } from './doubts.ts';
import { growingFigures } from './growth.ts';
import { memorySum } from './memory-sum.ts';
import { overTimeFigures } from './over-time.ts';
import { peaksOf } from './peaks.ts';

type Sampled = Pick<Sampler, 'layers' | 'samples'>;
type Memory = Result['memory'];

export function memoryFigures(measurements: Measurements, sampled: Sampled): Memory {
  const { plateaus, afterBroadcasts, inServiceAfterBroadcasts, afterDisconnect, origins, overTime } = measurements;
  const baseline = plateaus[0]?.layers ?? {};
  const moments = [...(overTime?.peaks ?? []), ...(overTime?.readings.rows ?? [])].map(({ layers }) => layers);
  const readings = [...plateaus.flatMap(({ layers, inService }) => [layers, inService ?? {}]), ...moments];
  const last = [afterBroadcasts ?? {}, inServiceAfterBroadcasts ?? {}];
  const peakBytes = peaksOf(measurements, sampled, [...readings, ...last], sampled.samples);
  const ofWorkers = (sampled.layers.find(({ id }) => id === 'worker')?.figures ?? []).map(({ id }) => id);
  const doubts = doubtsOf(measurements, ofWorkers, growingFigures(measurements, sampled));
  const perConnectionBytes: Record<string, Slope> = {};
  for (const layer of inAll(plateaus.map(({ layers }) => layers))) {
    const naive =
      measurements.peakConnections > 0
        ? ((peakBytes[layer] ?? 0) - (baseline[layer] ?? 0)) / measurements.peakConnections
        : 0;
    const points = withoutBaseline(plateaus).map((plateau) => pointOf(plateau, layer));
    const slope = slopeOf(points, doubts.get(layer));
    if (slope) perConnectionBytes[layer] = { ...allowingFor(slope, measurements, layer), naive };
  }
  return {
    layers: describeLayers(sampled.layers),
    collected: measurements.control,
    perConnectionBytes,
    // It follows from the finished figures.
    perConnection: null,
    inService: inServiceFigures(measurements, sampled, doubts),
    sum: memorySum(perConnectionBytes, sampled.layers),
    peakBytes,
    // What garbage is there by then would look like something that connections have left.
    residualBytes: afterDisconnect && measurements.control ? difference(afterDisconnect, baseline) : {},
    plateaus: plateaus.map(({ connections, layers: bytes }) => ({ connections, ...bytes })),
    overTime: overTimeFigures(measurements),
    sources: origins,
    absent: absentFigures(measurements),
  };
}

const UNCOLLECTED = 'at rest: a worker did not make a garbage collection that it had confirmed';

function absentFigures({ absentLayers, uncollected }: Measurements): Memory['absent'] {
  return { ...absentLayers, ...Object.fromEntries(uncollected.map((figure) => [figure, UNCOLLECTED])) };
}

/** Null where a plateau was not read before its collection. */
function inServiceFigures(
  measurements: Measurements,
  sampled: Sampled,
  doubts: Map<string, Doubt>,
): Memory['inService'] {
  const { plateaus, inServiceAfterBroadcasts } = measurements;
  const readings = plateaus.map(({ inService }) => inService).filter((reading) => reading !== undefined);
  if (readings.length === 0 || readings.length < plateaus.length) return null;
  const atWork = samplesAtWork(measurements, sampled);
  const peakBytes = peaksOf(measurements, sampled, [inServiceAfterBroadcasts ?? {}], atWork);
  const inService = {
    peakBytes,
    plateaus: plateaus.map(({ connections, inService }) => ({ connections, ...inService })),
  };
  const atRest = plateaus.map(({ connections, layers }) => ({ connections, ...layers }));
  const slopes = inAll([...readings, ...atRest]).flatMap((layer) => {
    const slope = slopeOf(inServicePoints({ plateaus: atRest, inService }, layer), doubts.get(layer));
    // The slope leads to the peak, a single observation whose noise is unknown.
    return slope ? [[layer, { ...slope, low95: null, high95: null }] as const] : [];
  });
  return { perConnectionBytes: Object.fromEntries(slopes), ...inService };
}

/** Beyond the baseline. */
const ENOUGH_PLATEAUS = 4;

/**
 * What earlier connections have left free in the proxy, the kernel and the processes, the first ones of the run take for nothing.
 * So the line begins where there are some, unless there are too few plateaus to do without the baseline.
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

function slopeOf(points: PlateauPoint[], doubtOfRun: Doubt | undefined): Omit<Slope, 'naive'> | null {
  const line = fitPlateaus(points);
  if (!line) return null;
  const { slope, low95, high95, r2 } = line;
  const doubt = doubtOfRun ?? (isCurved(points) ? 'curved' : undefined);
  return { slope, low95, high95, r2, ...(doubt !== undefined && { doubt }) };
}

const WORK = ['hold', 'broadcasts', 'drain'];

/** While all connections were held, and during the broadcasts. */
function samplesAtWork({ stages }: Measurements, { samples }: Sampled): Sampled['samples'] {
  return samples.filter(({ t }) => {
    const stage = stages.findLast((one) => one.t <= t);
    return stage !== undefined && WORK.includes(stage.name);
  });
}

/** Layers that every reading has. */
function inAll(readings: LayerBytes[]): string[] {
  return Object.keys(readings[0] ?? {}).filter((layer) => readings.every((reading) => layer in reading));
}

function difference(after: LayerBytes, before: LayerBytes): LayerBytes {
  return Object.fromEntries(
    Object.entries(after).flatMap(([layer, bytes]) =>
      layer in before ? [[layer, bytes - (before[layer] as number)]] : [],
    ),
  );
}
