/** Facts to result document; nothing is measured here. */
import type { Result } from '../../protocol/result.ts';
import { computeCapacity } from '../../report/capacity.ts';
import type { Facts } from '../run/measurements.ts';
import type { Sampler } from '../samplers/index.ts';
import { ENGINE } from '../script/script.ts';
import type { Settings } from '../script/settings.ts';
import { connectionFigures } from './connections.ts';
import { cpuFigures } from './cpu.ts';
import { batchRows, deliveryFigures } from './delivery.ts';
import { generatorFigures } from './generator.ts';
import { latencyFigures } from './latency.ts';
import { machineFigures } from './machine.ts';
import { memoryFigures } from './memory.ts';
import { judge } from './verdict.ts';

export function assembleResult(
  facts: Facts,
  config: Settings,
  environment: Result['environment'],
  sampler: Pick<Sampler, 'layers' | 'samples' | 'health' | 'swapped'>,
): Result {
  const { intervalMs, taken, missed, longestGapMs, failures } = sampler.health();
  const batches = batchRows(facts);
  const measured: Omit<Result, 'verdict' | 'capacity'> = {
    schemaVersion: 1,
    run: {
      id: facts.id,
      scenario: facts.scenario,
      startedAt: facts.startedAt.toISOString(),
      endedAt: new Date().toISOString(),
      target: facts.target,
      profile: facts.profile,
      engine: facts.engine,
      complete: facts.aborted === undefined && facts.workersAtEnd.length > 0,
    },
    connections: connectionFigures(facts),
    delivery: facts.engine === ENGINE ? deliveryFigures(facts, batches, config) : null,
    latency: latencyFigures(facts),
    memory: memoryFigures(facts, sampler),
    cpu: cpuFigures(facts, sampler.layers),
    generator: generatorFigures(facts),
    machine: machineFigures(facts, sampler, environment.cpuCount),
    sampling: { intervalMs, taken, missed, longestGapMs: Math.round(longestGapMs), failures },
    thresholds: facts.thresholds,
    stages: facts.stages,
    samples: sampler.samples,
    environment,
  };
  const result = { ...measured, capacity: computeCapacity(measured, config.memoryBudgetBytes) };
  return { ...result, verdict: judge(facts, result) };
}
