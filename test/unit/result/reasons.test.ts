/** What decides between several candidates, and what is left out where nothing was measured. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { workerFigures } from '../../../plugin/result/workers.ts';
import { measurements, snapshot } from '../../helpers/measurements.ts';
import { generatorHost } from '../../helpers/results.ts';
import { assertNames, type Change, fleetProcesses, testCases, verdictOf } from '../../helpers/verdict.ts';
import { workerResources } from '../../helpers/worker-resources.ts';

describe('a limit behind failures', () => {
  const failing =
    (failures: Record<string, number>): Change =>
    ({ connections }) => {
      const failed = Object.values(failures).reduce((sum, count) => sum + count, 0);
      Object.assign(connections, { peak: 5000 - failed, failed, failures });
    };

  for (const [failures, ...details] of [
    [{ timeout_open: 5, EMFILE: 95 }, '95 of 100', 'EMFILE'],
    [{ EADDRNOTAVAIL: 95, timeout_open: 5 }, '95 of 100', 'EADDRNOTAVAIL'],
    [{ http_502: 95, timeout_open: 5 }, '95 of 100', 'http_502'],
  ] as const) {
    it(`is named: ${JSON.stringify(failures)}`, () => {
      const { codes, reasons } = verdictOf(failing(failures));
      assert.deepEqual(codes, ['LIMIT_REACHED', 'CONNECTIONS_FAILED']);
      assertNames(reasons[0]?.message, details);
    });
  }

  it('is that of a process of the server, whatever its clients see of it', () => {
    const { codes, reasons } = verdictOf((result, measured) => {
      failing({ ECONNRESET: 60, timeout_open: 40 })(result, measured);
      Object.assign(result.environment.limits, { serverOpenFiles: 299, serverOpenFilesLimit: 300 });
    });
    assert.deepEqual(codes, ['LIMIT_REACHED', 'CONNECTIONS_FAILED']);
    assertNames(reasons[0]?.message, ['100 failed', '299', '300 files']);
  });

  it('is told in the words of the first failure', () => {
    const { reasons } = verdictOf((result, measured) => {
      failing({ http_400: 3 })(result, measured);
      result.connections.failureExamples = { http_400: 'POST /login answered 401; then 400 Bad Request' };
    });
    assertNames(reasons[0]?.message, ['http_400 3', 'POST /login answered 401']);
  });

  testCases([
    ['is not seen in a few', failing({ http_502: 3 }), 'CONNECTIONS_FAILED', '3 of 5000'],
    [
      'is not that of a full process, in a few',
      (result, measured) => {
        failing({ ECONNRESET: 3 })(result, measured);
        Object.assign(result.environment.limits, { serverOpenFiles: 299, serverOpenFilesLimit: 300 });
      },
      ...(['CONNECTIONS_FAILED', '3 of 5000'] as const),
    ],
    ['is not seen in several causes', failing({ http_502: 60, ECONNRESET: 40 }), 'CONNECTIONS_FAILED', 60, 40],
  ]);
});

describe('fleet processes that stop at numbers that are', () => {
  const stopAt =
    (target: number, held: number[]): Change =>
    ({ connections }, measured) => {
      const peak = held.reduce((total, one) => total + one, 0);
      Object.assign(connections, { target, peak });
      const opened = { ...snapshot().connecting, opened: { startedAtUs: 0, intervalUs: 1e6, counts: [peak] } };
      const accounts = { ...snapshot().accounts, alive: peak };
      const transports = { websocket: peak, upgraded: 0, polling: 0 };
      const processes = fleetProcesses(held);
      measured.snapshots.push(snapshot({ processes, accounts, connected: peak, transports, connecting: opened }));
    };

  testCases([
    ['the same', stopAt(5000, [1200, 1200, 1200]), 'LIMIT_REACHED', 3, 1200],
    [
      'the same, of connections that come and go',
      (r, f) => [stopAt(5000, [1200, 1200, 1200])(r, f), Object.assign(f, { overTime: { collected: true } })],
    ],
    ['further apart', stopAt(5000, [1200, 1190, 1230])],
    ['the same by chance, as there are two', stopAt(5000, [1200, 1200])],
    ['all that there are to be', stopAt(5000, [1666, 1667, 1667])],
    ['a thousandth apart, of many', stopAt(100_000, [20_000, 20_010, 20_020]), 'LIMIT_REACHED', 20_020],
    ['more than that apart, of many', stopAt(100_000, [20_000, 20_010, 20_021])],
    ['one apart, of few', stopAt(100_000, [200, 201, 200]), 'LIMIT_REACHED', 201],
    ['less than a hundred', stopAt(100_000, [99, 99, 99])],
  ]);
});

describe('the event loops of the generator', () => {
  testCases([
    [
      'one that is late',
      ({ generator: [loop] }) => Object.assign(loop ?? {}, { delayP99Ms: 51 }),
      'GENERATOR_LATE',
      51,
    ],
    [
      'one of a host',
      ({ generator: [loop] }) => Object.assign(loop ?? {}, { delayP99Ms: 51, host: 'b' }),
      ...(['GENERATOR_LATE', 'on b'] as const),
    ],
    [
      'two that are late in one window: the worse',
      ({ generator: [first, second] }) => [
        Object.assign(first ?? {}, { delayP99Ms: 60 }),
        Object.assign(second ?? {}, { delayP99Ms: 90 }),
      ],
      ...(['GENERATOR_LATE', 'fleet 0', '90 ms', 'ramp'] as const),
    ],
  ]);
});

it('an event loop is late in its own window only', () => {
  const { reasons } = verdictOf(({ generator: [loop] }) => Object.assign(loop ?? {}, { delayP99Ms: 51 }));
  assert.doesNotMatch(reasons[0]?.message ?? '', /;/);
});

describe('processes of the generator', () => {
  const processes =
    (changes: object): Change =>
    (_, f) =>
      f.snapshots.push(snapshot({ processes: fleetProcesses([5], changes) }));

  const afterStop =
    (changes: object): Change =>
    (result, f) => {
      f.stoppedByUser = true;
      processes(changes)(result, f);
    };

  testCases([
    ['that died after a stop', afterStop({ alive: false, answers: false })],
    ['that do not answer after a stop', afterStop({ answers: false })],
    ['that died', processes({ alive: false, answers: false }), 'FLEET_PROCESS_DIED', 1, 'pid 100'],
    ['that do not answer', processes({ answers: false }), 'GENERATOR_SILENT', 1, 'pid 100'],
  ]);
});

describe('a container', () => {
  const of = (periods: number, throttledPeriods: number) => ({
    ...{ cores: 0.12, periods, throttledPeriods, throttledMs: 51_200 },
  });
  const windows = (changes: object) => ({ ramp: null, messages: null, broadcasts: null, ...changes });
  const own =
    (changes: object): Change =>
    ({ machine }) =>
      Object.assign(machine ?? {}, { throttled: windows(changes) });
  const ofWorker: Change = (result) => {
    const idle = workerFigures({ ...measurements(), workerResources: [workerResources()] }).workers;
    result.workers = ['w0', 'w1'].flatMap((worker) =>
      idle.map((one) => ({ ...one, worker, throttled: worker === 'w1' ? windows({ ramp: of(100, 60) }) : null })),
    );
  };

  testCases([
    [
      'with the window in which its quota stopped it most',
      own({ ramp: of(1969, 743), broadcasts: of(1000, 100) }),
      ...(['GENERATOR_THROTTLED', '743 of 1,969', 'ramp', '51.2 s', 0.12] as const),
    ],
    ['with a quota that it rarely uses up', own({ ramp: of(1000, 50), broadcasts: of(0, 0) })],
    ['of a worker', ofWorker, 'WORKERS_THROTTLED', 'w1', '60 of 100', 'ramp', 0.12],
  ]);
});

describe('the machine', () => {
  /** Idle in ramp and broadcasts; the share of its time that a thread waited in each, but for one. */
  const busy =
    (idle: { ramp: number | null; broadcasts: number | null }, waits: [number, number] | null): Change =>
    ({ machine, generator }) => {
      Object.assign(machine ?? {}, { cpuIdlePercent: idle });
      for (const loop of generator) loop.cpuWaitShare = waits?.[loop.window === 'ramp' ? 0 : 1] ?? null;
      const last = generator.findLast(({ window }) => window === 'broadcasts');
      if (waits) Object.assign(last ?? {}, { cpuWaitShare: 0 });
    };
  const full = { ramp: 9, broadcasts: 4 };
  /** On two cores, during the broadcasts. */
  const others =
    (othersCores: number, stealCores: number, idle = { ramp: 40, broadcasts: 40 }): Change =>
    (result, measured) => {
      busy(idle, [0.5, 0.5])(result, measured);
      const programs = [{ name: 'node tsc', cores: othersCores }];
      const used = { othersCores, stealCores, programs, oursCores: 0.3, kernelCores: 0 };
      const rest = { seconds: 10, cores: 2, busyCores: 2, errorCores: 0.1 };
      const none = { othersCores: 0, stealCores: 0, programs: [] };
      const windows = [
        { ...rest, ...used, ...none, window: 'ramp' as const },
        { ...rest, ...used, window: 'broadcasts' as const },
      ];
      Object.assign(result.machine ?? {}, { others: { windows } });
    };
  const swap =
    (swappedInBytes: number, swappedOutBytes: number): Change =>
    ({ machine }) =>
      Object.assign(machine ?? {}, { swappedInBytes, swappedOutBytes });
  const unknown = { cpuIdlePercent: { ramp: null, broadcasts: null }, swappedInBytes: null, swappedOutBytes: null };

  testCases([
    ['full in the broadcasts', busy(full, [0, 0.5]), 'MACHINE_SATURATED', '4.0 %', '50 %', 'broadcasts'],
    ['full in the ramp', busy(full, [0.5, 0]), 'MACHINE_SATURATED', '9.0 %', '50 %', 'ramp'],
    [
      'of the host that had least',
      ({ machine, generator, generators, connections }) => {
        for (const loop of generator) loop.cpuWaitShare = null;
        Object.assign(machine ?? {}, { cpuIdlePercent: { ramp: 60, broadcasts: 3 } });
        const of = (name: string, broadcasts: number) => ({
          ...generatorHost(name),
          ...{ connections: connections.opened / 2, held: (connections.held ?? 0) / 2 },
          cpu: { idlePercent: { ramp: 60, messages: null, broadcasts } },
        });
        generators.push(of('a', 40), of('b', 3));
      },
      ...(['MACHINE_SATURATED', '3.0 %', 'host b', 'broadcasts'] as const),
    ],
    [
      'of which other programs took half',
      others(1.05, 0),
      'MACHINE_SATURATED',
      'node tsc 1.05',
      '1.05 of 2',
      'broadcasts',
    ],
    ['of which a hypervisor took half', others(0, 1.1), 'MACHINE_SATURATED', 'hypervisor', '55 %'],
    ['of which others took a quarter', others(0.5, 0.1)],
    [
      'of a host, of which other programs took half',
      (result, measured) => {
        others(1.05, 0)(result, measured);
        const windows = result.machine?.others?.windows ?? [];
        Object.assign(result.machine ?? {}, { others: null });
        const { opened, held } = result.connections;
        result.generators.push({ ...generatorHost('b'), connections: opened, held: held ?? 0, others: windows });
      },
      ...(['MACHINE_SATURATED', '1.05 of 2 cores of host b', 'node tsc 1.05'] as const),
    ],
    [
      'of workers elsewhere, of which a hypervisor took half',
      (result) => {
        const percent = { ramp: 55, messages: null, broadcasts: 3 };
        const machine = {
          hostname: 'db1',
          isGenerators: false,
          cores: 4,
          memoryBytes: 1,
          usedBytes: null,
        };
        result.workerMachines.push({ ...machine, cpuIdlePercent: percent, stealPercent: percent });
      },
      ...(['MACHINE_SATURATED', '55 % of the CPU of worker machine db1 during the ramp'] as const),
    ],
    ['full, with others', others(0.5, 0.2, full), 'MACHINE_SATURATED', '0.50 of 2', '10 %', '4.0 %'],
    ['full, with others within the error', others(0.09, 0, full), 'MACHINE_SATURATED', '4.0 %'],
    ['full, and nobody waits', busy(full, [0.1, 0.1])],
    ['full, and nobody knows who waits', busy({ ramp: 9, broadcasts: null }, null), 'MACHINE_SATURATED', '9.0 %'],
    ['that was not measured', ({ machine }) => Object.assign(machine ?? {}, unknown)],
    ['in older results', (result) => Object.assign(result, { machine: undefined, sampling: undefined })],
    ['swapping in', swap(3 * 2 ** 20, 0), 'SWAPPING', '0.0 MB', '3.0 MB'],
    ['swapping out', swap(0, 2 ** 21), 'SWAPPING', '2.0 MB', '0.0 MB'],
    ['swapping little', swap(2 ** 20, 2 ** 20)],
  ]);
});

describe('samples', () => {
  const sampled =
    (changes: object): Change =>
    ({ sampling }) =>
      Object.assign(sampling ?? {}, changes);

  testCases([
    ['of which some are missing', sampled({ missed: 7 }), 'READINGS_MISSING', 7],
    ['with a gap', sampled({ longestGapMs: 5100 }), 'READINGS_MISSING', '5.1 s'],
    ['of a source that fails', sampled({ failures: { redis: 8 } }), 'READINGS_MISSING', 'redis', 8],
    ['of a source that fails now and then', sampled({ failures: { redis: 2 } })],
    [
      'with all of it',
      sampled({ taken: 90, missed: 10, longestGapMs: 5500, failures: { redis: 6, processes: 5 } }),
      ...(['READINGS_MISSING', '10 of 100', '5.5 s', 'redis', 6] as const),
    ],
  ]);
});
