/**
 * Memory that V8 does not count, and memory of servers that nobody collects: does the interval of the headline contain the true
 * value?
 */
import { setTimeout as delay } from 'node:timers/promises';
import { memoryFigures } from '../../plugin/result/memory/memory.ts';
import type { Measurements } from '../../plugin/run/measurements/measurements.ts';
import { readAtRest } from '../../plugin/run/memory/readings.ts';
import { until } from '../../plugin/run/wait.ts';
import { Sampler } from '../../plugin/samplers/index.ts';
import { perConnectionOf } from '../../report/figures/per-connection.ts';
import { joinAll } from '../../test/helpers/fleet.ts';
import { perfectResult } from '../../test/helpers/results.ts';
import { type Comparison, interval, known, type Section } from './comparison.ts';
import { emptyMeasurements, join, never, type ServerPlan, type Setup, samplerOf, warmUp, withSetup } from './setup.ts';

interface NativeSize {
  connections: number;
  plateaus: number;
  /** Native memory per connection. */
  kilobytes: number[];
  /** Numbers of connections to the server that is not collected. */
  untouched: number[];
  repeats: { native: number; untouched: number };
}

/** Few plateaus can lie on a line by chance: noise alone gives the narrowest intervals. */
const UNTOUCHED_PLATEAUS = 3;
const READINGS = 3;
const READ_EVERY_MS = 250;
const WARM_UP_TOGETHER = 10;
const LEAVE_TIMEOUT_MS = 15_000;

export async function nativeMemory(size: NativeSize): Promise<Section> {
  const rows: Comparison[] = [];
  let keptBytes = Number.POSITIVE_INFINITY;
  for (const kilobytes of [0, ...size.kilobytes]) {
    const bytes = kilobytes * 1024;
    const plan: ServerPlan = bytes > 0 ? { keep: { kind: 'native', bytes } } : {};
    for (let repeat = 0; repeat < size.repeats.native; repeat++) {
      const { kept, low, high } = await withSetup(plan, (setup) => collected(setup, size));
      if (bytes === 0) keptBytes = kept;
      rows.push(interval(`${kilobytes} KB of malloc: workers, 95 % interval`, kept + bytes, low, high));
    }
  }
  for (const connections of size.untouched) {
    for (let repeat = 0; repeat < size.repeats.untouched; repeat++) {
      const { low, high } = await withSetup({}, (setup) => untouched(setup, connections));
      rows.push(interval(`not collected, ${connections} connections: workers, 95 % interval`, keptBytes, low, high));
    }
  }
  return {
    title: 'Native and uncollected memory',
    text:
      `A server keeps the stated native memory per connection, which V8 does not count, at ${size.connections} connections: the ` +
      'true value is V8’s count and this memory. Then, nobody collects the garbage of a server: the true value is what V8 counts ' +
      'after collections.',
    rows,
  };
}

async function collected(setup: Setup, { connections, plateaus }: NativeSize) {
  const { control, fleet } = setup;
  const sampler = samplerOf(setup);
  await warmUp(setup, 1);
  // As in a run, where the probe is connected from the start.
  await join(fleet, 1);
  const measurements = emptyMeasurements();
  await eachPlateau(setup, connections, plateaus, async () => {
    const { layers, readings } = await readAtRest(control, sampler);
    measurements.plateaus.push({ connections: fleet.status().connected, layers, readings });
  });
  return headlineOf(measurements, sampler, connections);
}

async function untouched(setup: Setup, connections: number) {
  const { server, fleet } = setup;
  const sampler = new Sampler({ pids: () => ({ worker: [server.pid] }), connections: () => fleet.status().connected });
  for (let made = 0; made < connections; made += WARM_UP_TOGETHER) {
    const clients = await joinAll(fleet, WARM_UP_TOGETHER);
    await Promise.all(clients.map((client) => client.close()));
  }
  await until(() => fleet.status().connected === 0, LEAVE_TIMEOUT_MS, never);
  const measurements = emptyMeasurements();
  measurements.control = false;
  await eachPlateau(setup, connections, UNTOUCHED_PLATEAUS, async () => {
    const readings = [];
    for (let index = 0; index < READINGS; index++) {
      await delay(READ_EVERY_MS);
      readings.push(await sampler.reading());
    }
    measurements.plateaus.push({ connections: fleet.status().connected, layers: meansOf(readings), readings });
  });
  return headlineOf(measurements, sampler, connections);
}

async function eachPlateau({ fleet }: Setup, connections: number, plateaus: number, read: () => Promise<void>) {
  for (let step = 0; step < plateaus; step++) {
    if (step > 0) await join(fleet, Math.round(connections / (plateaus - 1)));
    await read();
  }
}

/** @returns the interval of the workers' part, and what V8 counts */
function headlineOf(measurements: Measurements, sampler: Sampler, peak: number) {
  measurements.peakConnections = peak;
  const memory = memoryFigures(measurements, sampler);
  const result = perfectResult();
  const cost = perConnectionOf({
    memory,
    run: { ...result.run, profile: 'remote' },
    connections: { ...result.connections, peak },
  });
  const workers = cost?.parts.find(({ title }) => title === 'workers');
  return {
    kept: known(memory.perConnectionBytes.workerKept?.slope),
    low: known(workers?.low95),
    high: workers?.high95 ?? Number.NEGATIVE_INFINITY,
  };
}

function meansOf(readings: Record<string, number>[]): Record<string, number> {
  const [first = {}] = readings;
  const mean = (figure: string) => readings.reduce((sum, one) => sum + (one[figure] ?? 0), 0) / readings.length;
  return Object.fromEntries(Object.keys(first).map((figure) => [figure, mean(figure)]));
}
