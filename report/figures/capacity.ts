/**
 * Computes how many connections fit into a memory budget, how many idle connections the CPU can serve, and which other
 * limits are known.
 */
import type { Result } from '../../protocol/result/result.ts';
import { crossingOf, fitLine } from '../statistics/statistics.ts';
import { DOUBT_TEXTS, whySlopeNotQuoted } from '../statistics/straightness.ts';
import { cpuPerIdleConnection } from './idle-cpu.ts';
import { inServicePoints } from './in-service.ts';
import { mainWorkerLayer } from './layers.ts';
import { capacityLimitsOf, machineLimits, nextLimit, workerLimits } from './limits.ts';
import { type CostSources, memoryPerConnection } from './per-connection.ts';
import { coresOfDeployment } from './usable-resources.ts';

type Capacity = Result['capacity'];
type Measured = Omit<Result, 'capacity' | 'answer' | 'outcome' | 'verdict' | 'findings'>;

/** @param budgetBytes memory budget of the Socket.IO workers; proxy, Redis and kernel need memory in addition */
export function computeCapacity(result: Measured, budgetBytes: number): Capacity {
  const { memory, connections } = result;
  // Returns the number of connections at which the memory of a layer in service (with garbage and buffers) reaches
  // `bytes`. Null if the layer's slope at rest cannot be quoted.
  const lineReaches = (layer: string, bytes: number) => {
    const atRest = memory.perConnectionBytes[layer];
    return atRest && whySlopeNotQuoted(atRest) === undefined ? inServiceReaches(memory, layer, bytes) : null;
  };
  const memoryLimited =
    whyNoBudget(result) === undefined
      ? fitting(inServiceReaches(memory, mainWorkerLayer(memory.perConnectionBytes), budgetBytes), budgetBytes)
      : null;
  const { limits: known, unknown } = (result.run.profile === 'remote' ? workerLimits : machineLimits)(
    result,
    lineReaches,
  );
  const pings = pingLimit(result);
  const limits = [...known, ...(pings ? [{ name: 'pings' as const, max: pings.connections }] : [])];
  const capacity = { memoryLimited, pings, limits, unknown, lowest: null };
  return {
    ...capacity,
    limits: capacityLimitsOf({ capacity, connections }),
    lowest: nextLimit({ capacity, connections })?.name ?? null,
  };
}

function inServiceReaches({ inService, plateaus }: Measured['memory'], layer: string, bytes: number): number | null {
  const needed = inService?.perConnectionBytes[layer];
  if (!inService || !needed || needed.doubt !== undefined) return null;
  const line = fitLine(inServicePoints({ plateaus, inService }, layer));
  return line && crossingOf(line, bytes);
}

/** Returns why the number of connections for a memory budget is unknown; undefined if it is known. */
export function whyNoBudget(result: CostSources): string | undefined {
  const { memory } = result;
  const cost = memoryPerConnection(result);
  const needed = memory.inService?.perConnectionBytes[mainWorkerLayer(memory.perConnectionBytes)];
  const [workers] = cost?.parts.filter(({ title }) => title === 'workers') ?? [];
  const [missing] = cost?.without.filter(({ title }) => title === 'workers') ?? [];
  const doubt = missing?.doubt ?? needed?.doubt;
  if (doubt !== undefined) return DOUBT_TEXTS[doubt];
  return workers ? whySlopeNotQuoted({ ...workers, slope: workers.bytes }) : 'not measured';
}

function fitting(found: number | null, budgetBytes: number): Capacity['memoryLimited'] {
  if (found === null) return null;
  const connections = Math.max(0, Math.floor(found));
  return { budgetBytes, connections };
}

/**
 * Returns the number of idle connections whose pings use all usable cores. No CPU is left for connects or copies then.
 */
function pingLimit(result: Measured): Capacity['pings'] {
  const cost = cpuPerIdleConnection(result);
  if (!cost.known) return null;
  const usable = coresOfDeployment(result);
  const { pingIntervalMs, cores, interval } = cost;
  return {
    intervalMs: pingIntervalMs,
    connections: Math.round(usable / cores),
    low95: Math.round(usable / interval.high95),
    high95: Math.round(usable / interval.low95),
  };
}
