/**
 * Checks that memory, CPU and traffic figures are physically possible. A metrics page may be outdated, use another unit
 * or describe another process. Impossible figures are removed with a reason before any line is fitted.
 */

import { type CollectionContext, hasCleanPages, minWorkerProcesses } from '../../run/measurements/collecting.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import type { LayerBytes, Plateau } from '../../run/measurements/memory-measured.ts';
import { sourcesOfReadings } from '../../samplers/index.ts';
import { impossibleCpu } from './cpu-invariants.ts';
import {
  findFrozenMemory,
  findNegativeMemory,
  findPartsAboveRss,
  findTooSmallMemory,
  type MemoryRun,
  reusedPages,
} from './memory-invariants.ts';
import { impossibleTraffic } from './traffic-invariants.ts';
import type { Violation } from './violation.ts';

/**
 * Checks of memory figures, in order. A figure that fails a check is removed before the next check, so each figure has
 * one reason.
 */
const MEMORY = [findNegativeMemory, findTooSmallMemory, findFrozenMemory, findPartsAboveRss];

type Measured = Pick<
  Measurements,
  'plateaus' | 'overTime' | 'workersAtStart' | 'lastReadings' | 'sharedHost' | 'cpu' | 'workerResources' | 'redis'
> &
  CollectionContext;

/** Pattern of the names of sources that read a process directly. */
const LIVE_SOURCE = /^(\/proc\b|ps$)/;

/**
 * Returns the figures that are physically impossible. An impossible memory figure does not affect CPU figures, and vice
 * versa.
 */
export function violationsOf(measured: Measured): (Violation & { invalidates: ('memory' | 'cpu')[] })[] {
  return [
    ...impossibleMemory(measured).map((one) => ({ ...one, invalidates: ['memory' as const] })),
    ...impossibleCpu(measured).map((one) => ({ ...one, invalidates: ['cpu' as const] })),
    // No other figure depends on the traffic.
    ...impossibleTraffic(measured).map((one) => ({ ...one, invalidates: [] })),
  ];
}

/**
 * Returns memory figures that did not change because the connections fitted into memory pages that the processes
 * already had.
 */
export function reusedFigures(measured: Measured): string[] {
  return reusedPages(memoryRun(measured, new Set()));
}

function impossibleMemory(measured: Measured): Violation[] {
  const found: Violation[] = [];
  for (const breaks of MEMORY) {
    const broken = new Set(found.flatMap(({ figures }) => figures));
    found.push(...breaks(memoryRun(measured, broken)));
  }
  return found;
}

/**
 * Returns the measurements without impossible memory figures, and why each figure was removed. Readings over time are
 * not changed.
 */
export function withoutImpossibleMemory(measured: Measurements): {
  possible: Measurements;
  absent: Record<string, string>;
} {
  const broken = impossibleMemory(measured);
  if (broken.length === 0) return { possible: measured, absent: {} };
  const absent = Object.fromEntries(
    broken.flatMap(({ figures, message }) => figures.map((figure) => [figure, message])),
  );
  const clean = (layers: LayerBytes) => pick(layers, (figure) => !(figure in absent));
  const cleanIf = (layers: LayerBytes | undefined) => layers && clean(layers);
  const { plateaus, afterBroadcasts, inServiceAfterBroadcasts, afterDisconnect } = measured;
  const possible = {
    ...measured,
    plateaus: plateaus.map(
      ({ readings, inService, ...plateau }): Plateau => ({
        ...plateau,
        layers: clean(plateau.layers),
        ...(readings && { readings: readings.map(clean) }),
        ...(inService && { inService: clean(inService) }),
      }),
    ),
    afterBroadcasts: cleanIf(afterBroadcasts),
    inServiceAfterBroadcasts: cleanIf(inServiceAfterBroadcasts),
    afterDisconnect: cleanIf(afterDisconnect),
  };
  return { possible, absent };
}

function memoryRun(measured: Measured, broken: Set<string>): MemoryRun {
  const { plateaus, overTime, lastReadings } = measured;
  const clean = (layers: LayerBytes) => pick(layers, (figure) => !broken.has(figure));
  const rows = plateaus.map(({ connections, layers, readings = [], inService }) => ({
    connections,
    atRest: clean(layers),
    all: [...(readings.length > 0 ? readings : [layers]), ...(inService ? [inService] : [])].map(clean),
  }));
  const moments = [...(overTime?.peaks ?? []), ...(overTime?.readings.rows ?? [])];
  rows.push(...moments.map(({ connections, layers }) => ({ connections, atRest: {}, all: [clean(layers)] })));
  const sources = Object.entries(sourcesOfReadings(lastReadings));
  const live = new Set(sources.flatMap(([figure, source]) => (LIVE_SOURCE.test(source) ? [figure] : [])));
  return {
    rows,
    isV8: hasCleanPages(measured),
    processes: minWorkerProcesses(measured),
    live,
  };
}

function pick(layers: LayerBytes, isWanted: (figure: string) => boolean): LayerBytes {
  return Object.fromEntries(Object.entries(layers).filter(([figure]) => isWanted(figure)));
}
