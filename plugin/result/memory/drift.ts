/**
 * Computes how memory changes while connections open and close: memory that each connection leaves behind, growth over
 * time, or a rise for which the readings cannot distinguish the two.
 */
import type { MemoryDrift, OverTimeResult } from '../../../protocol/result/memory-schema.ts';
import { layerFamily } from '../../../report/figures/layers.ts';
import { roundUpTwoDigits } from '../../../report/figures/memory-leaks.ts';
import { fitPlateaus } from '../../../report/statistics/plateaus.ts';
import { type CollectionContext, includesGarbage } from '../../run/measurements/collecting.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import type { MomentReading, OverTimeMeasured } from '../../run/measurements/memory-measured.ts';
import { withoutFigures } from '../../run/memory/at-rest.ts';
import type { Layer } from '../../samplers/index.ts';
import { countsOverTime } from './counts-over-time.ts';

export interface DriftPoint {
  t: number;
  gone: number;
  bytes: number;
}

interface Term {
  bytes: number;
  low95: number;
  high95: number;
  noLeakAbove: number;
}

/**
 * Maximum difference between memory readings of an idle deployment, in bytes. A smaller rise over the whole run is not
 * a leak.
 */
const NOISE_BYTES = 1024 ** 2;
/**
 * Noise of memory figures that do not count pages, in bytes: V8 compiles code late, and Redis has buffers of 16 KB for
 * its clients.
 */
const HEAP_NOISE_BYTES = NOISE_BYTES / 2;
const REDIS_NOISE_BYTES = 16 * 1024;
/**
 * Possible growth of a process's heap before V8 collects all garbage for the first time. A smaller rise is not a leak.
 */
const GARBAGE_BYTES = 64 * NOISE_BYTES;
/**
 * Minimum rise of memory in the second half of the run, as a share of the rise that the line predicts. Without such a
 * rise, the growth may be a cache that has filled.
 */
const GOES_ON_SHARE = 0.5;
/** Minimum number of memory readings to fit a line. */
const LEAST_READINGS = 3;

/** Memory that a server keeps for a connection if it never releases the connection's socket. */
const KEPT_SOCKET_BYTES = 12 * 1024;
/** Minimum memory per connection, in bytes, with which the upper limit of a leak can be compared. */
const LEAST_COST_BYTES = 1024;

/**
 * Returns "no leak" only if the highest possible leak is below the memory of a connection. Otherwise, the readings
 * cannot decide.
 * @param askedBytes highest allowed upper limit of a leak, per connection
 * @param perStep number of connections that close between two readings; in the whole run, if users connect and
 * disconnect all the time
 * @returns the drift; if the readings cannot decide, with the number of connections for which the same noise would be
 * small enough
 */
export function withResolution(drift: MemoryDrift, askedBytes: number, perStep: number): MemoryDrift {
  const { leaks, noLeakAbove } = drift;
  if (leaks !== false || noLeakAbove === null || noLeakAbove <= askedBytes) return drift;
  const connections = roundUpTwoDigits((perStep * noLeakAbove) / askedBytes);
  return { ...drift, leaks: null, conclusiveRun: { connections, bytes: (noLeakAbove * perStep) / connections } };
}

/**
 * Computes the drift of a memory figure (its rise per closed connection and over time).
 * @param noiseBytes noise of the figure; a smaller rise over the whole run is not a leak
 * @returns null unless there are readings at two different numbers of closed connections
 */
export function computeDrift(
  points: DriftPoint[],
  kind: OverTimeResult['kind'],
  noiseBytes = NOISE_BYTES,
): MemoryDrift | null {
  const found = fitted(points, kind, noiseBytes);
  const later = points.slice(Math.floor((points.length - 1) / 2));
  if (!found?.leaks || later.length < LEAST_READINGS || goesOn(found, later)) return found;
  const since = computeDrift(later, kind, noiseBytes);
  return since && { ...since, sinceSeconds: since.sinceSeconds ?? (later[0] as DriftPoint).t };
}

function goesOn({ bytesPerConnection, perSecond }: MemoryDrift, later: DriftPoint[]): boolean {
  const { gone, seconds, bytes } = span(later);
  return bytes >= GOES_ON_SHARE * (bytesPerConnection * gone + (perSecond?.bytes ?? 0) * seconds);
}

function fitted(points: DriftPoint[], kind: OverTimeResult['kind'], noiseBytes: number): MemoryDrift | null {
  const connections = points.map(({ gone, bytes }) => ({ x: gone, y: bytes }));
  const time = points.map(({ t, bytes }) => ({ x: t, y: bytes }));
  const line = fitPlateaus(connections);
  if (!line) return null;
  const { gone, seconds } = span(points);
  const term = (fit: ReturnType<typeof fitPlateaus>, distance: number) => termOf(fit, distance, noiseBytes);
  const rises = (one: Term | null, distance: number) =>
    one !== null && one.low95 > 0 && one.bytes * distance > noiseBytes;
  const alone = [term(line, gone), term(fitPlateaus(time), seconds)] as const;
  const terms = [
    term(fitPlateaus(connections.map((point, index) => ({ ...point, beside: points[index]?.t as number }))), gone),
    term(fitPlateaus(time.map((point, index) => ({ ...point, beside: points[index]?.gone as number }))), seconds),
  ] as const;
  // If a term of the fit shows falling memory, it is wrong, because memory cannot fall forever. The other term is too
  // high then.
  const apart = terms.some((one) => (one?.high95 ?? 0) < 0) ? ([null, null] as const) : terms;
  const isNamed = apart.some((one, index) => rises(one, [gone, seconds][index] as number));
  const risesWithConnections = rises(alone[0], gone);
  const isRising = isNamed || risesWithConnections || rises(alone[1], seconds);
  const perConnection = isNamed ? apart[0] : alone[0];
  const perSecond = isNamed || !isRising ? apart[1] : risesWithConnections ? null : alone[1];
  return {
    bytesPerConnection: perConnection?.bytes ?? line.slope,
    low95: perConnection?.low95 ?? null,
    high95: perConnection?.high95 ?? null,
    perSecond,
    bytesPerHour: (line.slope * gone * 3600) / seconds,
    bytesPerWave: kind === 'waves' ? (line.slope * gone) / (points.length - 1) : null,
    leaks: alone[0] && isRising,
    noLeakAbove: perConnection?.noLeakAbove ?? null,
    sinceSeconds: null,
    conclusiveRun: null,
  };
}

function termOf(line: ReturnType<typeof fitPlateaus>, distance: number, noiseBytes: number): Term | null {
  if (!line || line.low95 === null) return null;
  const { slope, low95, high95 } = line;
  return { bytes: slope, low95, high95, noLeakAbove: Math.max(high95, noiseBytes / distance) };
}

function span(points: DriftPoint[]): { gone: number; seconds: number; bytes: number } {
  const [first, last] = [points[0] as DriftPoint, points.at(-1) as DriftPoint];
  return { gone: last.gone - first.gone, seconds: last.t - first.t, bytes: last.bytes - first.bytes };
}

/** @param impossible physically impossible figures, which are left out */
export function overTimeFigures(
  {
    overTime,
    uncollected,
    ...measured
  }: Pick<Measurements, 'overTime' | 'uncollected'> & Pick<CollectionContext, 'inspectors'>,
  impossible: string[] = [],
  layersOfRun: readonly Layer[] = [],
): OverTimeResult | null {
  if (!overTime) return null;
  const { kind, collected } = overTime;
  const possible = (moments: MomentReading[]) =>
    moments.map(({ layers, ...moment }) => ({ ...moment, layers: withoutFigures(layers, impossible) }));
  const [peaks, readings] = [possible(overTime.peaks), possible(overTime.readings.rows)];
  const used = afterWarmUp(peaks, readings);
  const first = used[0]?.layers ?? {};
  const asked = askedBytes(overTime);
  const gone = (used.at(-1)?.gone ?? 0) - (used[0]?.gone ?? 0);
  const perStep = kind === 'waves' ? gone / (used.length - 1) : gone;
  const layers = Object.keys(first).filter(
    (layer) =>
      used.every((one) => layer in one.layers) &&
      // A layer may have no processes, for example if the workers have no children.
      used.some((one) => one.layers[layer] !== 0) &&
      !uncollected.includes(layer),
  );
  const noiseOf = (layer: string) => {
    if (holdsGarbage(layer, collected) || includesGarbage(measured, layer)) return GARBAGE_BYTES;
    if (HEAP_FIGURES.includes(layer))
      return Math.min(NOISE_BYTES, HEAP_NOISE_BYTES * Math.max(1, measured.inspectors?.size ?? 1));
    return layerFamily(layer) === 'redis' && !/(Pss|Rss|HostUsed)$/.test(layer) ? REDIS_NOISE_BYTES : NOISE_BYTES;
  };
  return {
    kind,
    collected,
    peaks: peaks.map(asMoment),
    readings: readings.map(asMoment),
    counts: countsOverTime(used, titlesOf(layersOfRun)),
    warmUpReadings: readings.length - used.length,
    drift: Object.fromEntries(
      layers.flatMap((layer) => {
        const drift = computeDrift(
          used.map(({ t, gone, layers: read }) => ({ t, gone, bytes: read[layer] as number })),
          kind,
          noiseOf(layer),
        );
        return drift ? [[layer, withResolution(drift, asked, perStep)]] : [];
      }),
    ),
  };
}

const HEAP_FIGURES = ['workerKept', 'workerHeapUsed', 'workerExternal'];

/** Returns whether the layer may contain garbage at the reading. */
function holdsGarbage(layer: string, collected: boolean): boolean {
  return layerFamily(layer) === 'worker' && (!collected || layer === 'workerChildrenPss');
}

/**
 * Returns how much of the workers' heap a connection uses at the peaks of the waves. The result is at most the memory
 * of a socket that the server does not release.
 */
function askedBytes({ peaks, readings }: Pick<OverTimeMeasured, 'peaks' | 'readings'>): number {
  const costs = peaks.flatMap(({ t, connections, layers }) => {
    const left = readings.rows.find((reading) => reading.t > t)?.layers.workerHeapUsed;
    const peak = layers.workerHeapUsed;
    return left === undefined || peak === undefined || connections === 0 ? [] : [(peak - left) / connections];
  });
  const cost = costs.toSorted((a, b) => a - b)[Math.floor(costs.length / 2)] ?? KEPT_SOCKET_BYTES;
  return Math.min(KEPT_SOCKET_BYTES, Math.max(LEAST_COST_BYTES, cost));
}

/**
 * Removes the memory readings of the warm-up. The first connections make a server grow its heap, tables and pools once.
 * The warm-up is over when as many connections have closed as were ever open at the same time.
 */
function afterWarmUp(peaks: MomentReading[], readings: MomentReading[]): MomentReading[] {
  let most = 0;
  const begin = readings.findIndex(({ t, connections, gone }) => {
    most = Math.max(most, connections, ...peaks.filter((peak) => peak.t <= t).map((peak) => peak.connections));
    return gone >= most;
  });
  return begin < 0 ? [] : readings.slice(begin);
}

function titlesOf(layers: readonly Layer[]): Record<string, string> {
  return Object.fromEntries(layers.flatMap(({ counts = [] }) => counts.map(({ id, title }) => [id, title])));
}

function asMoment({ layers, counts: _, ...moment }: MomentReading): OverTimeResult['readings'][number] {
  return { ...moment, bytes: layers };
}
