/** What the connections cost in memory: at rest, and in service. */
import type { Result, Slope } from '../../protocol/result.ts';
import { inServicePoints } from '../../report/in-service.ts';
import { fitLine, type Point } from '../../report/statistics.ts';
import { doubtOf } from '../../report/straightness.ts';
import type { LayerBytes, Measurements } from '../run/measurements.ts';
import { describeLayers, type Sampler } from '../samplers/index.ts';
import { growingFigures } from './growth.ts';
import { memorySum } from './memory-sum.ts';
import { peaksOf } from './peaks.ts';

type Sampled = Pick<Sampler, 'layers' | 'samples'>;
type Memory = Result['memory'];

export function memoryFigures(measurements: Measurements, sampled: Sampled): Memory {
  const { plateaus, afterBroadcasts, inServiceAfterBroadcasts, afterDisconnect, absentLayers } = measurements;
  const baseline = plateaus[0]?.layers ?? {};
  const readings = plateaus.flatMap(({ layers, inService }) => [layers, inService ?? {}]);
  const last = [afterBroadcasts ?? {}, inServiceAfterBroadcasts ?? {}];
  const { bytes: peakBytes, derived } = peaksOf(measurements, sampled, [...readings, ...last], sampled.samples);
  const growing = growingFigures(measurements, sampled);
  const perConnectionBytes: Record<string, Slope> = {};
  for (const layer of inAll(plateaus.map(({ layers }) => layers))) {
    const naive =
      measurements.peakConnections > 0
        ? ((peakBytes[layer] ?? 0) - (baseline[layer] ?? 0)) / measurements.peakConnections
        : 0;
    const points = plateaus.map(({ connections, layers: bytes }) => ({ x: connections, y: bytes[layer] as number }));
    const slope = slopeOf(points, growing.has(layer));
    if (slope) perConnectionBytes[layer] = { ...slope, naive };
  }
  return {
    layers: describeLayers(sampled.layers),
    perConnectionBytes,
    inService: inServiceFigures(measurements, sampled, growing),
    sum: memorySum(perConnectionBytes, sampled.layers),
    peakBytes,
    derivedPeaks: derived,
    residualBytes: afterDisconnect ? difference(afterDisconnect, baseline) : {},
    afterBroadcastsBytes: afterBroadcasts ?? {},
    plateaus: plateaus.map(({ connections, layers: bytes }) => ({ connections, ...bytes })),
    absent: absentLayers,
  };
}

/** Null where a plateau was not read before its collection. */
function inServiceFigures(measurements: Measurements, sampled: Sampled, growing: Set<string>): Memory['inService'] {
  const { plateaus, inServiceAfterBroadcasts } = measurements;
  const readings = plateaus.map(({ inService }) => inService).filter((reading) => reading !== undefined);
  if (readings.length === 0 || readings.length < plateaus.length) return null;
  const atWork = samplesAtWork(measurements, sampled);
  const { bytes: peakBytes } = peaksOf(measurements, sampled, [inServiceAfterBroadcasts ?? {}], atWork);
  const inService = {
    peakBytes,
    plateaus: plateaus.map(({ connections, inService }) => ({ connections, ...inService })),
  };
  const atRest = plateaus.map(({ connections, layers }) => ({ connections, ...layers }));
  const slopes = inAll(readings).flatMap((layer) => {
    const slope = slopeOf(inServicePoints({ plateaus: atRest, inService }, layer), growing.has(layer));
    return slope ? [[layer, slope] as const] : [];
  });
  return { perConnectionBytes: Object.fromEntries(slopes), ...inService };
}

function slopeOf(points: Point[], grows: boolean): Omit<Slope, 'naive'> | null {
  const line = fitLine(points);
  if (!line) return null;
  const { slope, low95, high95, r2 } = line;
  const doubt = grows ? 'grows' : doubtOf(points);
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
