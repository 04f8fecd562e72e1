/** The layers that blame is laid on, and their sums over processes. */
import type { ProcessReading } from './proc.ts';

export const LAYERS = ['worker', 'pm2', 'nginx', 'redis', 'fleet', 'artillery'] as const;
export type Layer = (typeof LAYERS)[number];

/** Process ids of each layer; a layer that runs elsewhere, or not at all, is missing or empty. */
export type LayerPids = Partial<Record<Layer, number[]>>;

export type LayerMemory =
  /** `pssBytes` only when it was asked for and the kernel tells it for every process of the layer. */
  | { known: true; rssBytes: number; pssBytes?: number }
  /** A sum over only some of the processes would look like a saving, so there is none. */
  | { known: false; reason: string };

export function layerMemory(pids: number[] | undefined, processes: Map<number, ProcessReading>): LayerMemory {
  if (pids === undefined || pids.length === 0) return { known: false, reason: 'no process of it runs on this machine' };
  const readings = pids.map((pid) => processes.get(pid)).filter((reading) => reading !== undefined);
  const gone = pids.length - readings.length;
  if (gone > 0) return { known: false, reason: `${gone} of its ${pids.length} processes are gone` };
  const memory = { known: true as const, rssBytes: 0, pssBytes: 0 };
  let complete = true;
  for (const { rssBytes, pssBytes } of readings) {
    memory.rssBytes += rssBytes;
    memory.pssBytes += pssBytes ?? 0;
    complete &&= pssBytes !== undefined;
  }
  return complete ? memory : { known: true, rssBytes: memory.rssBytes };
}
