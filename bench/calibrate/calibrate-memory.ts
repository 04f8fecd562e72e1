/**
 * Calibrates memory per connection. Two servers differ by a known amount of memory per connection, and the slopes must
 * differ by the same amount.
 */

import { memoryFigures } from '../../plugin/result/memory/assemble-memory.ts';
import { readMemoryAtRest } from '../../plugin/run/memory/readings.ts';
import type { MemorySlope } from '../../protocol/result/memory-schema.ts';
import {
  createSetupSampler,
  emptyMeasurements,
  joinClients,
  warmUpConnections,
  withCalibrationSetup,
} from './calibration-setup.ts';
import {
  type CalibrationSection,
  compareInterval,
  compareWithin,
  type ErrorBound,
  type TruthComparison,
  valueOrInfinity,
} from './comparison.ts';

interface MemorySize {
  connections: number;
  plateaus: number;
  kinds: Kind[];
  kilobytes: number[];
  warmUps: number;
  bound: ErrorBound;
}

type Kind = 'buffer' | 'heap';

/** Layer that contains each kind of memory. */
const LAYERS: Record<Kind, string> = { buffer: 'workerExternal', heap: 'workerHeapUsed' };
/**
 * Memory that the second server keeps per connection. The object is of the same kind, so that V8's overhead per object
 * cancels out.
 */
const TWIN_BYTES = 1024;

export async function calibrateMemory(size: MemorySize): Promise<CalibrationSection> {
  const rows: TruthComparison[] = [];
  for (const kind of size.kinds) {
    const twin = await slopes(size, kind, TWIN_BYTES);
    for (const kilobytes of size.kilobytes) {
      const bytes = kilobytes * 1024;
      const larger = await slopes(size, kind, TWIN_BYTES + bytes);
      const what = `${kind === 'buffer' ? 'Buffer' : 'array of doubles'}, ${kilobytes} KB`;
      const layer = LAYERS[kind];
      const [more, less] = [larger[layer], twin[layer]];
      rows.push(
        compareWithin(
          `${what}: ${layer}`,
          'bytes',
          bytes,
          valueOrInfinity(more?.slope) - valueOrInfinity(less?.slope),
          size.bound,
        ),
      );
      rows.push(compareInterval(`${what}: ${layer}, 95 % interval`, bytes, ...differenceOf(more, less)));
    }
  }
  return {
    title: 'Memory per connection',
    text:
      `Each server keeps the stated amount per connection more than its twin, which keeps ${TWIN_BYTES} bytes of the same ` +
      'kind.',
    rows,
  };
}

async function slopes(
  { connections, plateaus, warmUps }: MemorySize,
  kind: Kind,
  bytes: number,
): Promise<Record<string, MemorySlope>> {
  return withCalibrationSetup({ keep: { kind, bytes } }, async (setup) => {
    const { control, fleet } = setup;
    const sampler = createSetupSampler(setup);
    await warmUpConnections(setup, warmUps);
    // Joins one connection from the start, as the probe of a run does.
    await joinClients(fleet, 1);
    const measurements = emptyMeasurements();
    for (let step = 0; step < plateaus; step++) {
      if (step > 0) await joinClients(fleet, Math.round(connections / (plateaus - 1)));
      const { layers } = await readMemoryAtRest(control, sampler);
      measurements.plateaus.push({ connections: fleet.status().connected, layers });
    }
    return memoryFigures(measurements, sampler).perConnectionBytes;
  });
}

/** Returns the interval of the difference between two independent slopes. The squares of the half-widths add up. */
function differenceOf(more: MemorySlope | undefined, less: MemorySlope | undefined): [low: number, high: number] {
  const slope = valueOrInfinity(more?.slope) - valueOrInfinity(less?.slope);
  const half = Math.hypot(halfWidth(more), halfWidth(less));
  return [slope - half, slope + half];
}

function halfWidth(slope: MemorySlope | undefined): number {
  return (valueOrInfinity(slope?.high95) - valueOrInfinity(slope?.low95)) / 2;
}
