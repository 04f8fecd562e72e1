/**
 * Calibrates the interval of the workers' memory per connection: for native memory, which V8 does not count, and for
 * servers without forced collections.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { memoryFigures } from '../../plugin/result/memory/assemble-memory.ts';
import type { Measurements } from '../../plugin/run/measurements/measurements.ts';
import { readMemoryAtRest } from '../../plugin/run/memory/readings.ts';
import { pollUntil } from '../../plugin/run/wait.ts';
import { knownValues, Sampler } from '../../plugin/samplers/index.ts';
import { memoryPerConnection } from '../../report/figures/per-connection.ts';
import { joinAll } from '../../test/helpers/fleet.ts';
import { perfectResult } from '../../test/helpers/results.ts';
import {
  type CalibrationSetup,
  createSetupSampler,
  emptyMeasurements,
  joinClients,
  neverAborted,
  type ServerPlan,
  warmUpConnections,
  withCalibrationSetup,
} from './calibration-setup.ts';
import { type CalibrationSection, compareInterval, type TruthComparison, valueOrInfinity } from './comparison.ts';

interface NativeSize {
  connections: number;
  plateaus: number;
  /** Native memory per connection, for each server. */
  kilobytes: number[];
  repeats: number;
}

interface UncollectedSize {
  /** Number of connections, for each server. */
  connections: number[];
  repeats: number;
}

/** Size of the run with forced collections. This run gives the true value. */
const TWIN = { connections: 1000, plateaus: 6 };
/** Number of plateaus. Few plateaus can lie on a line by chance, and noise alone then gives too narrow an interval. */
const UNCOLLECTED_PLATEAUS = 3;
const READINGS = 3;
/**
 * Native memory of a connection without added memory: mostly handles of libuv, as counted by `mallinfo2` in Node 20 to
 * 24.
 */
export const HANDLES_BYTES = 1024;
const READ_EVERY_MS = 250;
const WARM_UP_TOGETHER = 10;
const LEAVE_TIMEOUT_MS = 15_000;

export async function calibrateNativeMemory(size: NativeSize): Promise<CalibrationSection> {
  const rows: TruthComparison[] = [];
  for (const kilobytes of size.kilobytes) {
    const bytes = kilobytes * 1024;
    const plan: ServerPlan = bytes > 0 ? { keep: { kind: 'native', bytes } } : {};
    for (let repeat = 0; repeat < size.repeats; repeat++) {
      const { kept, low, high } = await withCalibrationSetup(plan, (setup) => collected(setup, size));
      const truth = valueOrInfinity(kept?.slope) + HANDLES_BYTES + bytes;
      rows.push(compareInterval(`${kilobytes} KB of native memory: workers, 95 % interval`, truth, low, high));
    }
  }
  return {
    title: 'Native memory per connection',
    text:
      `A server keeps the stated memory per connection, at ${size.connections} connections, in keys of OpenSSL, which V8 does not ` +
      'count. The true value is V8’s count, this memory, and 1 KB of handles.',
    rows,
  };
}

export async function calibrateUncollectedMemory(size: UncollectedSize): Promise<CalibrationSection> {
  const { kept } = await withCalibrationSetup({}, (setup) => collected(setup, TWIN));
  const rows: TruthComparison[] = [];
  for (const connections of size.connections) {
    for (let repeat = 0; repeat < size.repeats; repeat++) {
      const { low, high } = await withCalibrationSetup({}, (setup) => uncollected(setup, connections));
      rows.push(
        compareInterval(`${connections} connections: workers, 95 % interval`, valueOrInfinity(kept?.slope), low, high),
      );
    }
  }
  return {
    title: 'Memory that is not collected',
    text:
      `RSS at ${UNCOLLECTED_PLATEAUS} plateaus, without a forced collection. The true value is V8’s count on an equal ` +
      'server with forced collections.',
    rows,
  };
}

async function collected(
  setup: CalibrationSetup,
  { connections, plateaus }: Pick<NativeSize, 'connections' | 'plateaus'>,
) {
  const { control, fleet } = setup;
  const sampler = createSetupSampler(setup);
  await warmUpConnections(setup, 1);
  // Joins one connection from the start, as the probe of a run does.
  await joinClients(fleet, 1);
  const measurements = emptyMeasurements();
  await eachPlateau(setup, connections, plateaus, async () => {
    const { layers, readings } = await readMemoryAtRest(control, sampler);
    measurements.plateaus.push({ connections: fleet.status().connected, layers, readings });
  });
  return workerMemoryHeadline(measurements, sampler, connections);
}

async function uncollected(setup: CalibrationSetup, connections: number) {
  const { server, fleet } = setup;
  const sampler = new Sampler({ pids: () => ({ worker: [server.pid] }), connections: () => fleet.status().connected });
  for (let made = 0; made < connections; made += WARM_UP_TOGETHER) {
    const clients = await joinAll(fleet, WARM_UP_TOGETHER);
    await Promise.all(clients.map((client) => client.close()));
  }
  await pollUntil(() => fleet.status().connected === 0, LEAVE_TIMEOUT_MS, neverAborted);
  const measurements = emptyMeasurements();
  measurements.control = false;
  await eachPlateau(setup, connections, UNCOLLECTED_PLATEAUS, async () => {
    const readings = [];
    for (let index = 0; index < READINGS; index++) {
      await delay(READ_EVERY_MS);
      readings.push(knownValues(await sampler.reading()));
    }
    measurements.plateaus.push({ connections: fleet.status().connected, layers: meansOf(readings), readings });
  });
  return workerMemoryHeadline(measurements, sampler, connections);
}

async function eachPlateau(
  { fleet }: CalibrationSetup,
  connections: number,
  plateaus: number,
  read: () => Promise<void>,
) {
  for (let step = 0; step < plateaus; step++) {
    if (step > 0) await joinClients(fleet, Math.round(connections / (plateaus - 1)));
    await read();
  }
}

/** Returns the memory of the workers with its interval, and the slope of V8's count. */
export function workerMemoryHeadline(measurements: Measurements, sampler: Sampler, peak: number) {
  measurements.peakConnections = peak;
  const memory = memoryFigures(measurements, sampler);
  const result = perfectResult();
  const cost = memoryPerConnection({
    memory,
    run: { ...result.run, profile: 'remote' },
    connections: { ...result.connections, peak },
  });
  const workers = cost?.parts.find(({ title }) => title === 'workers');
  return {
    kept: memory.perConnectionBytes.workerKept,
    // Cuts the interval at zero, because a cost cannot be negative.
    low: Math.max(0, valueOrInfinity(workers?.low95)),
    high: workers?.high95 ?? Number.NEGATIVE_INFINITY,
  };
}

function meansOf(readings: Record<string, number>[]): Record<string, number> {
  const [first = {}] = readings;
  const mean = (figure: string) => readings.reduce((sum, reading) => sum + (reading[figure] ?? 0), 0) / readings.length;
  return Object.fromEntries(Object.keys(first).map((figure) => [figure, mean(figure)]));
}
