import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { workerFigures } from '../../../plugin/result/assemble-workers.ts';
import { measurements } from '../../helpers/measurements.ts';
import { generatorHost } from '../../helpers/results.ts';
import { type Change, set, testCases, verdictOf } from '../../helpers/verdict.ts';
import { workerResources } from '../../helpers/worker-resources.ts';

describe('a container', () => {
  const of = (periods: number, throttledPeriods: number) => ({
    ...{ cores: 0.12, periods, throttledPeriods, throttledMs: 51_200 },
  });
  const windows = (changes: object) => ({ ramp: null, messages: null, broadcasts: null, ...changes });
  const own = (ramp: object, broadcasts: object) => set('machine', { throttled: windows({ ramp, broadcasts }) });
  const ofWorker: Change = (result) => {
    const idle = workerFigures({ ...measurements(), workerResources: [workerResources()] }).workers;
    result.workers = ['w0', 'w1'].flatMap((worker) =>
      idle.map((one) => ({ ...one, worker, throttled: worker === 'w1' ? windows({ ramp: of(100, 60) }) : null })),
    );
  };
  const worst = ['743 of 1,969', 'ramp', '51.2 s', 0.12];

  testCases([
    ['container throttled by its quota', own(of(1969, 743), of(1000, 100)), 'MACHINE_SATURATED', ...worst],
    ['container with a quota that it rarely uses up', own(of(1000, 50), of(0, 0))],
    ['container of a worker, throttled', ofWorker, 'WORKERS_THROTTLED', 'w1', '60 of 100', 'ramp', 0.12],
  ]);
});

describe('the machine', () => {
  /** Returns idle CPU in ramp and broadcasts, and the share of time that a thread waited in each of them. */
  const busy =
    (ramp: number | null, broadcasts: number | null, waits: [number, number] | null = [0.5, 0.5]): Change =>
    ({ machine, generator }) => {
      Object.assign(machine ?? {}, { cpuIdlePercent: { ramp, broadcasts } });
      for (const loop of generator) loop.cpuWaitShare = waits?.[loop.window === 'ramp' ? 0 : 1] ?? null;
      const last = generator.findLast(({ window }) => window === 'broadcasts');
      if (waits) Object.assign(last ?? {}, { cpuWaitShare: 0 });
    };
  /** Returns windows on two cores during the broadcasts. */
  const windows = (othersCores: number, stealCores: number, busyCores = 2, memory = 0) => {
    const pressure = { cpu: 0.5, memory, io: 0.5 };
    const rest = { seconds: 10, cores: 2, busyCores, errorCores: 0.1, oursCores: 0.3, kernelCores: 0, pressure };
    const programs = [{ name: 'node tsc', cores: othersCores }];
    return [
      { ...rest, window: 'ramp' as const, othersCores: 0, stealCores: 0, programs: [] },
      { ...rest, window: 'broadcasts' as const, othersCores, stealCores, programs },
    ];
  };
  const others =
    (othersCores: number, stealCores: number, ramp = 40, broadcasts = 40): Change =>
    (result, measured) => {
      busy(ramp, broadcasts)(result, measured);
      Object.assign(result.machine ?? {}, { others: { windows: windows(othersCores, stealCores) } });
    };
  /**
   * Returns a run with late broadcasts on two cores, with the CPU of other programs, of the hypervisor, and in total.
   */
  const lateBeside =
    (othersCores: number, stealCores: number, busyCores: number): Change =>
    (result, measured) => {
      busy(40, 40)(result, measured);
      Object.assign(result.generator[0] ?? {}, { delayP99Ms: 51 });
      Object.assign(result.machine ?? {}, { others: { windows: windows(othersCores, stealCores, busyCores) } });
    };
  const elsewhere = (change: Change, target = 'http://server:3000'): Change => {
    return (result, measured) => {
      Object.assign(result.run, { profile: 'remote', target });
      change(result, measured);
    };
  };
  const waiting =
    (memory: number): Change =>
    ({ machine }) =>
      void Object.assign(machine ?? {}, { others: { windows: windows(0, 0, 1, memory) } });
  const onHost: Change = (result, measured) => {
    busy(40, 40)(result, measured);
    const { opened, held } = result.connections;
    const row = { connections: opened, held: held ?? 0, others: windows(1.05, 0) };
    result.generators.push({ ...generatorHost('b'), ...row });
  };
  const hostWithLeast: Change = (result, measured) => {
    busy(60, 3, null)(result, measured);
    const { opened, held } = result.connections;
    for (const [name, broadcasts] of Object.entries({ a: 40, b: 3 })) {
      const cpu = { idlePercent: { ramp: 60, messages: null, broadcasts } };
      const half = { connections: opened / 2, held: (held ?? 0) / 2 };
      result.generators.push({ ...generatorHost(name), ...half, cpu });
    }
  };
  const ofWorkers: Change = ({ workerMachines }) => {
    const percent = { ramp: 55, messages: null, broadcasts: 3 };
    const machine = { hostname: 'db1', isGenerators: false, cores: 4, memoryBytes: 1, usedBytes: null };
    workerMachines.push({ ...machine, cpuIdlePercent: percent, stealPercent: percent });
  };
  const swap = (swappedInBytes: number, swappedOutBytes: number) => set('machine', { swappedInBytes, swappedOutBytes });
  const unknown = { cpuIdlePercent: { ramp: null, broadcasts: null }, swappedInBytes: null, swappedOutBytes: null };
  const FULL = 'MACHINE_SATURATED';
  const LATE = 'GENERATOR_LATE';

  testCases([
    ['machine saturated in the broadcasts', busy(9, 4, [0, 0.5]), FULL, '4.0 %', '50.0 %', 'broadcasts'],
    ['machine saturated in the ramp', busy(9, 4, [0.5, 0]), FULL, '9.0 %', '50.0 %', 'ramp'],
    ['machine without idle CPU, and no thread waits', busy(9, 4, [0.1, 0.1])],
    ['machine without idle CPU, and waits are unknown', busy(9, null, null), FULL, '9.0 %'],
    ['machine of the host with the least idle CPU', hostWithLeast, FULL, '3.0 %', 'host b', 'broadcasts'],
    ['machine half used by other programs', others(1.05, 0), FULL, 'node tsc: 1.05', '1.05 of 2', 'broadcasts'],
    ['machine with half of its CPU used by the hypervisor', others(0, 1.1), FULL, 'hypervisor', '55 %'],
    ['machine with a quarter of its CPU used by other programs', others(0.5, 0.1)],
    ['machine half used outside the container', elsewhere(others(0, 0)), FULL, '1.60 of 2', 'container'],
    ['machine with half of its CPU possibly used by the deployment', elsewhere(others(0, 0), 'http://localhost:3000')],
    ["host's machine half used by other programs", onHost, FULL, '1.05 of 2', 'host b', 'node tsc: 1.05'],
    ["workers' machine half used by the hypervisor", ofWorkers, FULL, '55 %', 'db1', 'ramp'],
    ['machine saturated, with other programs', others(0.5, 0.2, 9, 4), FULL, '0.50 of 2', '10 %', '4.0 %'],
    ['machine saturated, with other programs within the error', others(0.09, 0, 9, 4), FULL, '4.0 %'],
    ['generator late while other programs used a quarter of the CPU', lateBeside(0.5, 0, 1), FULL, 'node tsc: 0.50'],
    ['generator late while the hypervisor left no more CPU', lateBeside(0, 0.24, 1.8), FULL, '12 %'],
    ['generator late while other programs used little CPU', lateBeside(0, 0.24, 1), LATE, '51 ms'],
    ['machine whose CPU was not measured', set('machine', unknown)],
    [
      'machine in results of an older version',
      (result) => Object.assign(result, { machine: undefined, sampling: undefined }),
    ],
    ['machine swapping in', swap(3 * 2 ** 20, 0), 'SWAPPING', '0.0 MB', '3.0 MB'],
    ['machine swapping out', swap(0, 2 ** 21), 'SWAPPING', '2.0 MB', '0.0 MB'],
    ['machine swapping little', swap(2 ** 20, 2 ** 20)],
    ['machine with programs that waited for memory', waiting(0.3), 'SWAPPING', '30.0 %', 'ramp'],
    ['machine with programs that rarely waited for memory', waiting(0.1)],
  ]);

  it('lists only programs that used CPU as sources of a busy machine', () => {
    assert.doesNotMatch(verdictOf(others(1.05, 0)).findings[0]?.message ?? '', /hypervisor|container/);
  });
});

describe('samples', () => {
  const sampled = (changes: object) => set('sampling', changes);
  const all = { taken: 90, missed: 10, longestGapMs: 5500, failures: { redis: 6, processes: 5 } };

  testCases([
    ['some samples missing', sampled({ missed: 7 }), 'READINGS_MISSING', 7],
    ['samples with a gap', sampled({ longestGapMs: 5100 }), 'READINGS_MISSING', '5.10 s'],
    ['a source of samples that fails', sampled({ failures: { redis: 8 } }), 'READINGS_MISSING', 'redis', 8],
    ['a source of samples that fails rarely', sampled({ failures: { redis: 2 } })],
    [
      'samples missing, a gap and a source that fails',
      sampled(all),
      'READINGS_MISSING',
      '10 of 100',
      '5.50 s',
      'redis',
      6,
    ],
  ]);
});
