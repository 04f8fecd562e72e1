/**
 * Calibrates memory per connection. Two servers differ by a known amount of memory per connection, and the slopes must
 * differ by the same amount.
 */

import { memoryFigures } from '../../plugin/result/memory/assemble-memory.ts';
import { readAtRest } from '../../plugin/run/memory/readings.ts';
import type { Slope } from '../../protocol/result/memory-schema.ts';
import { emptyMeasurements, join, samplerOf, warmUp, withSetup } from './calibration-setup.ts';
import { type Bound, type Comparison, interval, known, near, type Section } from './comparison.ts';

interface MemorySize {
  connections: number;
  plateaus: number;
  kinds: Kind[];
  kilobytes: number[];
  warmUps: number;
  bound: Bound;
}

type Kind = 'buffer' | 'heap';

/** Layer that contains each kind of memory. */
const LAYERS: Record<Kind, string> = { buffer: 'workerExternal', heap: 'workerHeapUsed' };
/**
 * Memory that the second server keeps per connection. The object is of the same kind, so that V8's overhead per object
 * cancels out.
 */
const TWIN_BYTES = 1024;

export async function memory(size: MemorySize): Promise<Section> {
  const rows: Comparison[] = [];
  for (const kind of size.kinds) {
    const twin = await slopes(size, kind, TWIN_BYTES);
    for (const kilobytes of size.kilobytes) {
      const bytes = kilobytes * 1024;
      const larger = await slopes(size, kind, TWIN_BYTES + bytes);
      const what = `${kind === 'buffer' ? 'Buffer' : 'array of doubles'}, ${kilobytes} KB`;
      const layer = LAYERS[kind];
      const [more, less] = [larger[layer], twin[layer]];
      rows.push(near(`${what}: ${layer}`, 'bytes', bytes, known(more?.slope) - known(less?.slope), size.bound));
      rows.push(interval(`${what}: ${layer}, 95 % interval`, bytes, ...differenceOf(more, less)));
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
): Promise<Record<string, Slope>> {
  return withSetup({ keep: { kind, bytes } }, async (setup) => {
    const { control, fleet } = setup;
    const sampler = samplerOf(setup);
    await warmUp(setup, warmUps);
    // Joins one connection from the start, as the probe of a run does.
    await join(fleet, 1);
    const measurements = emptyMeasurements();
    for (let step = 0; step < plateaus; step++) {
      if (step > 0) await join(fleet, Math.round(connections / (plateaus - 1)));
      const { layers } = await readAtRest(control, sampler);
      measurements.plateaus.push({ connections: fleet.status().connected, layers });
    }
    return memoryFigures(measurements, sampler).perConnectionBytes;
  });
}

/** Returns the interval of the difference between two independent slopes. The squares of the half-widths add up. */
function differenceOf(more: Slope | undefined, less: Slope | undefined): [low: number, high: number] {
  const slope = known(more?.slope) - known(less?.slope);
  const half = Math.hypot(halfWidth(more), halfWidth(less));
  return [slope - half, slope + half];
}

function halfWidth(slope: Slope | undefined): number {
  return (known(slope?.high95) - known(slope?.low95)) / 2;
}
