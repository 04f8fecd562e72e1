/** An invented run with waves of connections. */
import type { MemoryDrift, OverTimeResult } from '../../protocol/result/memory-schema.ts';
import { type Result, resultSchema } from '../../protocol/result/result.ts';
import { perfectResult } from './results.ts';

const KB = 1024;
const MB = KB * KB;

/** @param margin half-width of the interval */
export function drift(bytesPerConnection: number, margin: number): MemoryDrift {
  const [low95, high95] = [bytesPerConnection - margin, bytesPerConnection + margin];
  return {
    bytesPerConnection,
    low95,
    high95,
    perSecond: { bytes: 0, low95: -5, high95: 5, noLeakAbove: 5 },
    sinceSeconds: null,
    bytesPerHour: bytesPerConnection * 900_000,
    bytesPerWave: bytesPerConnection * 5000,
    leaks: low95 > 0,
    noLeakAbove: high95,
    conclusiveRun: null,
  };
}

/** Returns a reading of a run with waves, with connected and closed connections. */
export function moment(t: number, connections: number, gone: number) {
  return { t, connections, gone, bytes: { workerRss: 200 * MB + connections * KB, workerHeapUsed: 40 * MB } };
}

/** Returns a run with three waves of 5,000 connections. The heap of the server leaks, but RSS does not show it. */
export function waves(changes: Partial<OverTimeResult> = {}): Result {
  const overTime: OverTimeResult = {
    kind: 'waves',
    collected: true,
    peaks: [moment(10, 5000, 0), moment(30, 5000, 5000), moment(50, 5000, 10_000)],
    readings: [moment(20, 0, 5000), moment(40, 0, 10_000), moment(60, 0, 15_000)],
    counts: [],
    warmUpReadings: 0,
    drift: { workerRss: drift(10, 50), workerHeapUsed: drift(20 * KB, KB), fleetRss: drift(10, 50) },
    ...changes,
  };
  const result = perfectResult();
  return resultSchema.parse({ ...result, delivery: null, memory: { ...result.memory, overTime } });
}
