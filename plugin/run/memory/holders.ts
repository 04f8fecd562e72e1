/** Reads what may hold memory of connections outside the measured processes: other processes, and files in shared memory. */
import { readProcessTable, readSharedMemory, shownCommand, valuesOf, withDescendants } from '../../samplers/index.ts';
import type { RunContext } from '../context.ts';
import type { Holder, LayerBytes, MachineMoment } from '../measurements/memory-measured.ts';

/** Only the largest processes, as a small one cannot have grown by much. */
const MAX_PROCESSES = 300;
/** Minimum growth since the first reading for which the command line is read. */
const GROWN_BYTES = 1024 ** 2;

export class Holders {
  #first: Map<string, number> | undefined;

  /** @param measured processes of the layers, which are excluded, as are this process and its children */
  async read(measured: number[]): Promise<Holder[]> {
    const table = readProcessTable();
    const known = withDescendants([process.pid], table);
    for (const pid of measured) known.add(pid);
    const processes = [...table.values()]
      .filter(({ pid, rssBytes }) => rssBytes > 0 && !known.has(pid))
      .toSorted((a, b) => b.rssBytes - a.rssBytes)
      .slice(0, MAX_PROCESSES)
      .map(({ pid, startedAtUs, rssBytes }) => ({ id: `${pid} ${startedAtUs}`, pid, bytes: rssBytes }));
    this.#first ??= new Map(processes.map(({ id, bytes }) => [id, bytes]));
    const hasGrown = ({ id, bytes }: Holder) => bytes - (this.#first?.get(id) ?? 0) > GROWN_BYTES;
    const named = processes.map((holder) =>
      hasGrown(holder) ? { ...holder, name: shownCommand(holder.pid) } : holder,
    );
    const shared = (await readSharedMemory()).map(({ place, bytes }) => ({ id: place, pid: null, name: place, bytes }));
    return [...named, ...shared];
  }
}

/** @param layers bytes read at the same time @returns undefined if the run does not compare the machine's memory */
export async function machineMoment(
  { sampler, holders }: RunContext,
  layers: LayerBytes,
): Promise<MachineMoment | undefined> {
  const found = await holders?.();
  return found && { t: sampler.seconds(), layers, holders: found };
}

/** Reads the machine again before the connections close. Growth since the plateau is not due to connections. */
export async function measureStandstill(context: RunContext): Promise<void> {
  const { sampler, measurements, signal } = context;
  if (signal.aborted) return;
  measurements.standstill = await machineMoment(context, valuesOf(await sampler.reading()));
}
