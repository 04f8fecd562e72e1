/**
 * Measures memory at a constant number of connections, memory that remains after all connections have closed, heap
 * profiles, and memory of other processes and files that may hold data of connections.
 */

import {
  knownValues,
  printableCommandOf,
  readProcessTable,
  readSharedMemory,
  withDescendants,
} from '../../samplers/index.ts';
import type { Checkpoints } from '../checkpoints/checkpoints.ts';
import type { RunContext } from '../context.ts';
import type { LayerBytes, MachineMemoryReading, MemoryHolder } from '../measurements/memory-measured.ts';
import type { CheckMoment } from '../measurements/observations.ts';
import { measureMemoryAtRest, measureSettledMemory, withoutFigures } from './at-rest.ts';
import type { MemoryAtRest } from './readings.ts';

/**
 * Measures memory without connections, after it has stopped falling. If memory of the baseline were freed later,
 * connections would appear cheaper than they are.
 */
export async function measureBaseline(context: RunContext, checkpoints: Checkpoints): Promise<void> {
  await measurePlateau(context, checkpoints, async (when) => {
    const { falling, ...read } = await measureSettledMemory(context, when);
    context.measurements.fallingAtBaseline = falling;
    return read;
  });
}

type ReadAtRest = (when: CheckMoment, isSame: () => boolean) => Promise<Omit<MemoryAtRest, 'uncollected'>>;

/**
 * Reads memory at the current number of connections. If that number changes before the first memory reading has ended,
 * the reading is discarded.
 */
export async function measurePlateau(
  context: RunContext,
  checkpoints: Checkpoints,
  atRest: ReadAtRest = (when, isSame) => measureMemoryAtRest(context, when, isSame),
): Promise<void> {
  const { sampler, population, measurements, signal } = context;
  if (signal.aborted) return;
  const when = { at: 'plateau', count: population.connections() } as const;
  await checkpoints.check(when);
  const connections = population.connections();
  const inService = knownValues(await sampler.reading());
  const before = await machineMoment(context, inService);
  const { layers, readings, last } = await atRest(when, () => population.connections() === connections);
  if (measurements.memory && readings.length === 0) {
    const moved = { from: connections, to: population.connections() };
    measurements.observations.note('plateauMoved', moved, connections);
    return;
  }
  measurements.lastReadings = last;
  const after = await machineMoment(context, readings.at(-1) ?? layers);
  const machine = before && after && { before, after };
  measurements.plateaus.push({ connections, layers, readings, inService, ...(machine && { machine }) });
}

/** Measures the memory that remains after all connections have closed. */
export async function measureResidualMemory(context: RunContext, checkpoints: Checkpoints): Promise<void> {
  const { measurements } = context;
  const when = { at: 'left' } as const;
  await checkpoints.check(when);
  // After a fault has replaced processes, their memory cannot be compared with the baseline.
  if (measurements.fault) return;
  const { layers, falling } = await measureSettledMemory(context, when);
  measurements.afterDisconnect = withoutFigures(layers, falling);
}

/**
 * Starts heap profiles. If that fails, stores the error in place of the profiles, because no other figure depends on
 * them.
 */
export async function startHeapProfiles({ profiler, measurements, signal }: RunContext): Promise<void> {
  if (!profiler || signal.aborted || measurements.heapProfiles) return;
  measurements.heapProfiles = [];
  await profiler.startProfiles('heap').catch((error) => {
    measurements.heapProfiles = error;
  });
}

/** Takes the heap profiles. Must be called after the last memory reading. */
export async function takeHeapProfiles({ profiler, measurements, signal }: RunContext): Promise<void> {
  const { heapProfiles } = measurements;
  if (!profiler || !heapProfiles || heapProfiles instanceof Error || signal.aborted) return;
  measurements.heapProfiles = await profiler.takeProfiles().catch((error: Error) => error);
}

/**
 * Maximum number of processes to read, those with the most memory first. A process with less memory cannot have grown
 * by much.
 */
const MAX_PROCESSES = 300;
/** Minimum growth since the first reading, in bytes, for which the command line of a process is read. */
const GROWN_BYTES = 1024 ** 2;

export class MemoryHolders {
  #first: Map<string, number> | undefined;

  /**
   * Reads the memory of other processes, and shared memory.
   * @param measured processes to exclude because a layer measures them; this process and its children are also excluded
   */
  async read(measured: number[]): Promise<MemoryHolder[]> {
    const table = readProcessTable();
    const known = withDescendants([process.pid], table);
    for (const pid of measured) known.add(pid);
    const processes = [...table.values()]
      .filter(({ pid, rssBytes }) => rssBytes > 0 && !known.has(pid))
      .toSorted((a, b) => b.rssBytes - a.rssBytes)
      .slice(0, MAX_PROCESSES)
      .map(({ pid, startedAtUs, rssBytes }) => ({ id: `${pid} ${startedAtUs}`, pid, bytes: rssBytes }));
    this.#first ??= new Map(processes.map(({ id, bytes }) => [id, bytes]));
    const hasGrown = ({ id, bytes }: MemoryHolder) => bytes - (this.#first?.get(id) ?? 0) > GROWN_BYTES;
    const named = processes.map((holder) =>
      hasGrown(holder) ? { ...holder, name: printableCommandOf(holder.pid) } : holder,
    );
    const shared = (await readSharedMemory()).map(({ place, bytes }) => ({ id: place, pid: null, name: place, bytes }));
    return [...named, ...shared];
  }
}

/**
 * @param layers memory of the layers, read at the same time
 * @returns undefined if the run does not compare the machine's memory with the sum of the layers
 */
async function machineMoment(
  { sampler, holders }: RunContext,
  layers: LayerBytes,
): Promise<MachineMemoryReading | undefined> {
  const found = await holders?.();
  return found && { t: sampler.seconds(), layers, holders: found };
}

/**
 * Reads the machine's memory again before the connections close. No connection has opened since the last plateau, so
 * growth in this time has another cause.
 */
export async function measureMachineGrowth(context: RunContext): Promise<void> {
  const { sampler, measurements, signal } = context;
  if (signal.aborted) return;
  measurements.standstill = await machineMoment(context, knownValues(await sampler.reading()));
}
