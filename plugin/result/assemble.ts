/** Converts measurements to the figures of the result document, without judging them. */
import type { Result } from '../../protocol/result/result.ts';
import { computeCapacity } from '../../report/figures/capacity.ts';
import { memoryPerConnection } from '../../report/figures/per-connection.ts';
import type { Measurements } from '../run/measurements/measurements.ts';
import type { Sampler } from '../samplers/index.ts';
import type { Settings } from '../script/settings.ts';
import { absentSections } from './absent.ts';
import { connectionFigures, otherLoadFigures } from './assemble-connections.ts';
import { faultFigures } from './assemble-fault.ts';
import { generatorFigures, generatorHosts, machineFigures } from './assemble-machine.ts';
import { redisFigures } from './assemble-redis.ts';
import { workerFigures, workersOverTime } from './assemble-workers.ts';
import { cpuFigures } from './cpu/assemble-cpu.ts';
import { batchRows, deliveryFigures, eventCountFigures } from './delivery/assemble-delivery.ts';
import { latencyFigures } from './delivery/assemble-latency.ts';
import { messageFigures } from './delivery/assemble-messages.ts';
import { doubtMiscountedSlopes, memoryFigures } from './memory/assemble-memory.ts';
import { machineBalance } from './memory/machine-balance.ts';
import { cpuByCodePlace } from './places/cpu-places.ts';

/** Keys of the result that are computed from the findings. */
type Concluded = 'answer' | 'outcome' | 'verdict' | 'findings';

export function assembleFigures(
  measurements: Measurements,
  config: Settings,
  environment: Result['environment'],
  sampler: Pick<Sampler, 'layers' | 'samples' | 'workers' | 'health' | 'swapped' | 'incompleteCpu'>,
): Omit<Result, Concluded> {
  const { fullest } = measurements;
  const limitsOfServer = fullest && { serverOpenFiles: fullest.openFiles, serverOpenFilesLimit: fullest.limit };
  const { intervalMs, taken, missed, longestGapMs, failures } = sampler.health();
  const batches = batchRows(measurements);
  const absent = absentSections(measurements, config);
  const delivery = absent.delivery === undefined ? deliveryFigures(measurements, batches, config) : null;
  const byPlace = cpuByCodePlace(measurements.cpuProfiles);
  const measured: Omit<Result, Concluded | 'capacity'> = {
    schemaVersion: 4,
    absent,
    run: {
      id: measurements.id,
      scenario: measurements.scenario,
      ...(measurements.file !== undefined && { file: measurements.file }),
      startedAt: measurements.startedAt.toISOString(),
      endedAt: new Date().toISOString(),
      target: measurements.target,
      profile: measurements.profile,
      missing: [...measurements.missing],
      engine: measurements.engine,
      complete: measurements.aborted === undefined && measurements.stages.at(-1)?.name === 'done',
    },
    connections: connectionFigures(measurements),
    fault: faultFigures(measurements, batches, config, sampler.samples),
    ...otherLoadFigures(measurements),
    messages: messageFigures(measurements),
    delivery,
    eventCounts: eventCountFigures(measurements),
    latency: latencyFigures(measurements),
    memory: doubtMiscountedSlopes(memoryFigures(measurements, sampler), measurements),
    cpu: cpuFigures(measurements, sampler.layers, sampler.incompleteCpu),
    ...(byPlace && { cpuByPlace: byPlace }),
    processes: measurements.processes,
    redis: redisFigures(measurements, delivery?.received, sampler.samples),
    generator: generatorFigures(measurements),
    generators: generatorHosts(measurements),
    machine: machineFigures(measurements, sampler, environment.cpuCount),
    ...workerFigures(measurements),
    sampling: { intervalMs, taken, missed, longestGapMs: Math.round(longestGapMs), failures },
    thresholds: measurements.thresholds,
    stages: measurements.stages,
    samples: sampler.samples,
    workersOverTime: workersOverTime(measurements, sampler),
    environment: { ...environment, limits: { ...environment.limits, ...limitsOfServer } },
  };
  measured.memory.perConnection = memoryPerConnection(measured);
  measured.memory.balance = machineBalance(measured.memory, measurements);
  return { ...measured, capacity: computeCapacity(measured, config.memoryBudgetBytes) };
}
