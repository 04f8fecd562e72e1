/**
 * How many connections would fit: by the published report's rule, by the line of the memory in service, by the CPU of idle
 * connections, and by each other known limit.
 */
import type { Result } from '../../protocol/result/result.ts';
import { fitLine, whereReaches } from '../statistics/statistics.ts';
import type { Limit } from '../text/limit-names.ts';
import { coresOfDeployment } from '../text/usable.ts';
import { workerLimits } from '../text/worker-limits.ts';
import { idleCostOf } from './idle-cpu.ts';
import { inServicePoints } from './in-service.ts';
import { mainWorkerLayer } from './layers.ts';

type Capacity = Result['capacity'];
type Measured = Omit<Result, 'capacity' | 'verdict' | 'outcome'>;

const SEED_BUDGET_BYTES = 2 * 1024 ** 3;

/** @param budgetBytes memory for the Socket.IO workers; the proxy, Redis and the kernel need more on top */
export function computeCapacity(result: Measured, budgetBytes: number): Capacity {
  const { memory } = result;
  const workerLayer = mainWorkerLayer(memory.perConnectionBytes);
  const memoryLimited = fitting(crossing(memory, workerLayer, budgetBytes), budgetBytes);
  const ofBudget: Limit[] = memoryLimited ? [{ name: 'memoryBudget', max: memoryLimited.connections }] : [];
  const ofMachine =
    result.run.profile === 'remote'
      ? workerLimits(result, (figure, bytes) => crossing(memory, figure, bytes))
      : { limits: machineLimits(result), unknown: [] };
  const pings = pingLimit(result);
  const ofCpu: Limit[] = pings ? [{ name: 'pings', max: pings.connections }] : [];
  const limits = [...ofBudget, ...ofMachine.limits, ...ofCpu].toSorted((a, b) => a.max - b.max);
  const seedMax = seedTheoreticalMax(result.connections.peak, memory.peakBytes.workerRss ?? 0);
  const { unknown } = ofMachine;
  const lowest = unknown.length > 0 ? null : (limits[0]?.name ?? null);
  return { seedTheoreticalMax: seedMax, memoryLimited, pings, limits, unknown, lowest };
}

/** The published studies' rule: 2 GiB × connections ÷ peak worker RSS, including the memory at 0 connections. */
export function seedTheoreticalMax(connections: number, peakWorkerBytes: number): number | null {
  if (connections === 0 || peakWorkerBytes <= 0) return null;
  return Math.floor((SEED_BUDGET_BYTES * connections) / peakWorkerBytes);
}

/** @returns null where the layer has no line to be quoted, at rest or in service */
function crossing(memory: Measured['memory'], layer: string, bytes: number): number | null {
  const { perConnectionBytes, inService, plateaus } = memory;
  const slopes = [perConnectionBytes[layer], inService?.perConnectionBytes[layer]];
  if (!inService || slopes.some((slope) => slope === undefined || slope.doubt !== undefined)) return null;
  const line = fitLine(inServicePoints({ plateaus, inService }, layer));
  return line && whereReaches(line, bytes);
}

/** Without an interval: the line leads to the peak, which is a single observation. */
function fitting(found: number | null, budgetBytes: number): Capacity['memoryLimited'] {
  if (found === null) return null;
  return {
    budgetBytes,
    basis: 'inService',
    connections: Math.max(0, Math.floor(found)),
    low95: null,
    high95: null,
  };
}

/** Where idle connections take all cores that may be used, and nothing is left to connect or to deliver with. */
function pingLimit(result: Measured): Capacity['pings'] {
  const cost = idleCostOf(result);
  if (!cost.known) return null;
  const usable = coresOfDeployment(result);
  const { pingIntervalMs, cores, interval } = cost;
  return {
    intervalMs: pingIntervalMs,
    coresPerThousand: cores * 1000,
    connections: Math.round(usable / cores),
    low95: Math.round(usable / interval.high95),
    high95: Math.round(usable / interval.low95),
  };
}

/** Limits of this machine for the deployment that was measured. */
function machineLimits({ connections, memory, environment }: Measured): Limit[] {
  const limits: Limit[] = [];
  const workers = Object.keys(connections.perWorker).length;
  const total = crossing(memory, 'systemUsed', environment.memoryBytes);
  if (total !== null) limits.push({ name: 'machineMemory', max: Math.max(0, Math.floor(total)) });
  const { openFilesHard, containerMemoryBytes = Number.POSITIVE_INFINITY } = environment.limits;
  const ofContainer = crossing(memory, 'containerUsed', containerMemoryBytes);
  if (ofContainer !== null) limits.push({ name: 'containerMemory', max: Math.max(0, Math.floor(ofContainer)) });
  if (openFilesHard !== undefined && workers > 0) {
    limits.push({ name: 'workerFileDescriptors', max: workers * openFilesHard });
  }
  return limits;
}
