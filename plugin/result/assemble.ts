/** Measurements to result document; nothing is measured here. */
import type { Result } from '../../protocol/result/result.ts';
import { computeCapacity } from '../../report/capacity.ts';
import type { Measurements } from '../run/measurements.ts';
import type { Sampler } from '../samplers/index.ts';
import type { Settings } from '../script/settings.ts';
import { absentSections } from './absent.ts';
import { connectionFigures } from './connections.ts';
import { cpuFigures } from './cpu.ts';
import { batchRows, deliveryFigures } from './delivery.ts';
import { generatorFigures } from './generator.ts';
import { latencyFigures } from './latency.ts';
import { machineFigures } from './machine.ts';
import { memoryFigures } from './memory.ts';
import { messageFigures } from './messages.ts';
import { doubtMiscounted } from './miscounted.ts';
import { evaluate } from './verdict.ts';

export function assembleResult(
  measurements: Measurements,
  config: Settings,
  environment: Result['environment'],
  sampler: Pick<Sampler, 'layers' | 'samples' | 'health' | 'swapped'>,
): Result {
  const { intervalMs, taken, missed, longestGapMs, failures } = sampler.health();
  const batches = batchRows(measurements);
  const absent = absentSections(measurements);
  const measured: Omit<Result, 'verdict' | 'capacity'> = {
    schemaVersion: 1,
    absent,
    run: {
      id: measurements.id,
      scenario: measurements.scenario,
      startedAt: measurements.startedAt.toISOString(),
      endedAt: new Date().toISOString(),
      target: measurements.target,
      profile: measurements.profile,
      engine: measurements.engine,
      complete: measurements.aborted === undefined && measurements.stages.at(-1)?.name === 'done',
    },
    connections: connectionFigures(measurements),
    messages: messageFigures(measurements),
    delivery: absent.delivery === undefined ? deliveryFigures(measurements, batches, config) : null,
    latency: latencyFigures(measurements),
    memory: doubtMiscounted(memoryFigures(measurements, sampler), measurements),
    cpu: cpuFigures(measurements, sampler.layers),
    generator: generatorFigures(measurements),
    machine: machineFigures(measurements, sampler, environment.cpuCount),
    sampling: { intervalMs, taken, missed, longestGapMs: Math.round(longestGapMs), failures },
    thresholds: measurements.thresholds,
    stages: measurements.stages,
    samples: sampler.samples,
    environment,
  };
  const result = { ...measured, capacity: computeCapacity(measured, config.memoryBudgetBytes) };
  return { ...result, verdict: evaluate(measurements, result) };
}
