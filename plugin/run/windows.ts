/** Windows of the run in which CPU is measured. */
import type { Sampler } from '../samplers/index.ts';
import type { CpuWindow, LayerCpu } from './measurements.ts';
import type { Population } from './population.ts';

/** Where a window began. */
export interface Mark {
  cpu: LayerCpu;
  connections: number;
  atMs: number;
}

/** What reads CPU time, and counts the connections. */
export type WindowContext = { sampler: Pick<Sampler, 'cpu'>; population: Pick<Population, 'connections'> };

export async function mark({ sampler, population }: WindowContext): Promise<Mark> {
  const connections = population.connections();
  return { cpu: await sampler.cpu(), connections, atMs: performance.now() };
}

/** @param units connections made, or messages delivered, since `begin` */
export async function windowSince(
  { sampler }: Pick<WindowContext, 'sampler'>,
  begin: Mark,
  units: number,
): Promise<CpuWindow> {
  const cpuUs = cpuBetween(begin.cpu, await sampler.cpu());
  return { seconds: (performance.now() - begin.atMs) / 1000, cpuUs, units };
}

/** @returns what each layer used between two readings of CPU time; layers that appeared meanwhile count from zero */
function cpuBetween(before: LayerCpu, after: LayerCpu): LayerCpu {
  return Object.fromEntries(Object.entries(after).map(([layer, us]) => [layer, us - (before[layer] ?? 0)]));
}
