/** Servers that keep a known amount more per connection than their twin: does the difference of the slopes match? */

import { memoryFigures } from '../../plugin/result/memory/memory.ts';
import { readAtRest } from '../../plugin/run/memory/readings.ts';
import { Sampler } from '../../plugin/samplers/index.ts';
import type { Slope } from '../../protocol/result/memory.ts';
import { type Bound, type Comparison, interval, known, near, type Section, shown } from './comparison.ts';
import { emptyMeasurements, join, warmUp, withSetup } from './setup.ts';

interface MemorySize {
  connections: number;
  plateaus: number;
  kinds: Kind[];
  kilobytes: number[];
  /** Number of warm-ups before the first plateau. */
  warmUps: number;
  /** Also measures the effect of no warm-up. */
  cold: boolean;
  bound: Bound;
}

type Kind = 'buffer' | 'heap';

/** The figure in which V8 counts it. */
const LAYERS: Record<Kind, string> = { buffer: 'workerExternal', heap: 'workerHeapUsed' };
/** Kept by the twin: the same kind of object, so that V8's overhead per object cancels out. */
const TWIN_BYTES = 1024;
const COLD_CONNECTIONS = 1000;

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
      rows.push(
        shown(`${what}: workerRss`, 'bytes', bytes, known(larger.workerRss?.slope) - known(twin.workerRss?.slope)),
      );
    }
  }
  if (size.cold) rows.push(...(await coldRows(size)));
  return {
    title: 'Memory per connection',
    text:
      `Each server keeps the stated amount per connection more than its twin, which keeps ${TWIN_BYTES} bytes of the same ` +
      'kind. `workerRss` includes what the allocator holds in reserve, so it has no bound. Servers are warm; the “cold” rows ' +
      'show what a line through zero connections makes of the cost of the very first ones.',
    rows,
  };
}

/** The true value is the slope of the same server after a warm-up. */
async function coldRows(size: MemorySize): Promise<Comparison[]> {
  const small = { ...size, connections: COLD_CONNECTIONS };
  const warm = await slopes(small, 'buffer', TWIN_BYTES);
  const cold = await slopes({ ...small, warmUps: 0 }, 'buffer', TWIN_BYTES);
  return ['workerHeapUsed', 'workerRss'].map((layer) =>
    shown(
      `cold instead of warm, ${COLD_CONNECTIONS} connections: ${layer}`,
      'bytes',
      known(warm[layer]?.slope),
      known(cold[layer]?.slope),
    ),
  );
}

async function slopes(
  { connections, plateaus, warmUps }: MemorySize,
  kind: Kind,
  bytes: number,
): Promise<Record<string, Slope>> {
  return withSetup({ keep: { kind, bytes } }, async (setup) => {
    const { server, control, fleet } = setup;
    const pids = () => ({ worker: [server.pid] });
    const sampler = new Sampler({ pids, connections: () => fleet.status().connected, workers: control });
    await warmUp(setup, warmUps);
    // As in a run, where the probe is connected from the start.
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

/** The interval of the difference of two independent slopes: the squares of their half widths add up. */
function differenceOf(more: Slope | undefined, less: Slope | undefined): [low: number, high: number] {
  const slope = known(more?.slope) - known(less?.slope);
  const half = Math.hypot(halfWidth(more), halfWidth(less));
  return [slope - half, slope + half];
}

function halfWidth(slope: Slope | undefined): number {
  return (known(slope?.high95) - known(slope?.low95)) / 2;
}
